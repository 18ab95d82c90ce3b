// Processes that TF_CONFIG describes and no launcher runs: the first one, which runs the control plane, is
// lost, and the others elect another one and go on.
#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/strategies/control/control_transport.h>
#include <nyala/tests/support/free_port.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala::lost_chief_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class LostChief : public testing::Test {
 protected:
  using Words = std::vector<std::string>;

  void SetUp() override {
    if (!detail::grpc_is_built()) GTEST_SKIP() << "this build has no gRPC";
  }
  ~LostChief() override {
    for (auto& [name, process] : running_) {
      ::kill(process, SIGKILL);
      ::waitpid(process, nullptr, 0);
    }
  }

  /// One that waits in a step for so long, for the moments at which others are lost.
  void cluster(int size, Words settings, Words variables = {}) {
    size_ = size;
    settings_ = std::move(settings);
    variables_ = std::move(variables);
    addresses_.clear();
    for (int rank = 0; rank < size; ++rank)
      addresses_ += (rank > 0 ? ", " : "") + ("\"127.0.0.1:" + std::to_string(free_port()) + "\"");
  }
  void start_all() {
    for (int rank = 0; rank < size_; ++rank) start(rank, std::to_string(rank));
  }
  void start(int rank, const std::string& name) {
    Words words = {"/usr/bin/env", "-u", "NYALA_COORDINATOR", "-u", "NYALA_TOKEN", "OMP_NUM_THREADS=1"};
    words.insert(words.end(), variables_.begin(), variables_.end());
    if (size_ > 1)
      words.push_back("TF_CONFIG={\"cluster\": {\"worker\": [" + addresses_ +
                      "]}, \"task\": {\"type\": \"worker\", \"index\": " + std::to_string(rank) + "}}");
    words.insert(words.end(),
                 {NYALA_TEST_PROGRAMS "/network_worker", folder_.path().string(), name, "trusted=0"});
    words.insert(words.end(), settings_.begin(), settings_.end());
    std::vector<char*> list;
    for (std::string& word : words) list.push_back(word.data());
    list.push_back(nullptr);
    const std::string output = output_of(name);
    const pid_t process = ::fork();
    if (process == 0) {
      const int file = ::open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
      ::dup2(file, 1);
      ::dup2(file, 2);
      ::execv(list[0], list.data());
      ::_exit(127);
    }
    running_[name] = process;
  }
  void send(const std::string& name, int number) {
    ::kill(running_.at(name), number);
    if (number != SIGKILL) return;
    ::waitpid(running_.at(name), nullptr, 0);
    running_.erase(name);
  }
  /// The exit status.
  int end_of(const std::string& name) {
    int status = -1;
    EXPECT_TRUE(until([&] { return ::waitpid(running_.at(name), &status, WNOHANG) != 0; }, 90)) << story();
    running_.erase(name);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  void expect_all_well(const Words& names) {
    for (const std::string& name : names) EXPECT_EQ(end_of(name), 0) << story();
  }

  std::string output_of(const std::string& name) const { return folder_.file("output-" + name); }
  std::string said(const std::string& name) const { return text_of(output_of(name)); }
  /// All that was said but steps.
  std::string story() const {
    std::string all;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      const std::string name = entry.path().filename().string();
      if (name.rfind("output-", 0) != 0) continue;
      std::istringstream lines(text_of(entry.path().string()));
      for (std::string line; std::getline(lines, line);)
        if (line.rfind("step ", 0) != 0) all += "[" + name.substr(7) + "] " + line + "\n";
    }
    return all;
  }
  /// Of its last step: how many it has done, the generation and the number of processes.
  struct Steps {
    int count = 0, generation = 0, processes = 0;
  };
  Steps steps(const std::string& name) const {
    Steps found;
    std::istringstream lines(said(name));
    std::string what, time, batch;
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      if (words >> what && what == "step" && words >> time >> batch >> found.generation >> found.processes)
        ++found.count;
    }
    return found;
  }
  static bool until(const std::function<bool()>& is_so, int seconds) {
    for (int i = 0; i < seconds * 50; ++i) {
      if (is_so()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
  }
  void wait_for_steps(const Words& names, int count) {
    for (const std::string& name : names)
      ASSERT_TRUE(until([&] { return steps(name).count >= count; }, 60)) << name << "\n" << story();
  }
  /// They have done a step in a later generation, of so many.
  void wait_until_they_go_on(const Words& names, int before, int processes) {
    for (const std::string& name : names)
      ASSERT_TRUE(until(
          [&] {
            const Steps now = steps(name);
            return now.generation > before && now.processes == processes;
          },
          60))
          << name << "\n"
          << story();
  }

  std::vector<double> numbers(const std::string& name) const {
    const std::string bytes = text_of(folder_.file("final-" + name));
    std::vector<double> values(bytes.size() / sizeof(double));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(double));
    return values;
  }
  /// Weights and history of a training that nobody disturbed, of so many processes.
  std::vector<double> undisturbed(int size, const Words& settings = {}) {
    cluster(size, settings);
    settings_.push_back("pace=0");
    for (int rank = 0; rank < size; ++rank) start(rank, "undisturbed" + std::to_string(rank));
    for (int rank = 0; rank < size; ++rank)
      EXPECT_EQ(end_of("undisturbed" + std::to_string(rank)), 0) << story();
    return numbers("undisturbed0");
  }
  void expect_numbers(const Words& names, const std::vector<double>& expected, double tolerance) const {
    ASSERT_FALSE(expected.empty());
    for (const std::string& name : names) {
      const std::vector<double> received = numbers(name);
      ASSERT_EQ(received.size(), expected.size()) << name;
      EXPECT_EQ(received, numbers(names[0])) << name;
      for (size_t i = 0; i < received.size(); ++i)
        ASSERT_LE(std::abs(received[i] - expected[i]), tolerance * (1 + std::abs(expected[i])))
            << name << " " << i;
    }
  }

  int size_ = 0;
  Words settings_, variables_;
  std::string addresses_;
  ScratchFolder folder_;
  std::map<std::string, pid_t> running_;
};

TEST_F(LostChief, TheOthersElectAnotherAndGoOn) {
  const std::vector<double> one = undisturbed(1);
  const std::string weights = folder_.file("w-{epoch}.weights.h5");
  cluster(3, {"min_workers=2", "shows=1", "save=" + weights});
  start_all();
  wait_for_steps({"0", "1", "2"}, 15);  // in the second of four epochs
  send("0", SIGKILL);
  const auto begin = std::chrono::steady_clock::now();
  wait_until_they_go_on({"1", "2"}, steps("2").generation, 2);
  std::cout << "they went on after "
            << std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() << " s\n";
  expect_all_well({"1", "2"});
  expect_numbers({"1", "2"}, one, 2e-3);
  // Its duties are those of the lowest rank that is left.
  EXPECT_THAT(said("0"), HasSubstr("Epoch 1/4"));
  EXPECT_THAT(said("1"), AllOf(HasSubstr("Epoch 2/4"), HasSubstr("Epoch 4/4"), Not(HasSubstr("Epoch 1/4"))));
  EXPECT_THAT(said("2"), Not(HasSubstr("Epoch")));
  EXPECT_TRUE(std::filesystem::exists(folder_.file("w-4.weights.h5")));
}

TEST_F(LostChief, TwoAreLostOneAfterTheOther) {
  const std::vector<double> one = undisturbed(1);
  cluster(3, {"min_workers=1"});
  start_all();
  wait_for_steps({"0", "1", "2"}, 4);
  send("0", SIGKILL);
  wait_until_they_go_on({"1", "2"}, 1, 2);
  send("1", SIGKILL);
  wait_until_they_go_on({"2"}, 2, 1);
  expect_all_well({"2"});
  expect_numbers({"2"}, one, 2e-3);
}

/// Nobody has been told to go on with fewer: all wait for it, and it finds them, whoever serves now.
TEST_F(LostChief, OneThatIsStartedAgainFindsTheOthers) {
  const std::vector<double> three = undisturbed(3);
  for (const int wait : {0, 1500}) {
    cluster(3, {}, {"NYALA_REJOIN=1"});
    start_all();
    wait_for_steps({"0", "1", "2"}, 6);
    send("0", SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(wait));
    start(0, "again");
    expect_all_well({"again", "1", "2"});
    expect_numbers({"again", "1", "2"}, three, 0);
  }
}

TEST_F(LostChief, OneThatIsStartedAgainIsTakenIn) {
  const Words settings = {"epochs=8"};
  const std::vector<double> one = undisturbed(1, settings);
  cluster(3, {"epochs=8"}, {"NYALA_MIN_WORKERS=2"});
  start_all();
  wait_for_steps({"0", "1", "2"}, 4);
  send("0", SIGKILL);
  wait_until_they_go_on({"1", "2"}, 1, 2);
  start(0, "again");
  wait_until_they_go_on({"again", "1", "2"}, 2, 3);
  send("1", SIGKILL);  // who has served since
  wait_until_they_go_on({"again", "2"}, 3, 2);
  expect_all_well({"again", "2"});
  expect_numbers({"again", "2"}, one, 2e-3);
}

/// The others are not in fit yet, where alone they could take it in.
TEST_F(LostChief, OneThatComesLateDoesNotDisturbTheOthers) {
  const std::vector<double> one = undisturbed(1);
  cluster(3, {"min_workers=2", "rejoin_timeout=1", "idle=2500"});
  start(0, "0");
  start(1, "1");
  for (const char* name : {"0", "1"})
    ASSERT_TRUE(until([&] { return said(name).find("joined") != std::string::npos; }, 30)) << story();
  start(2, "2");
  wait_until_they_go_on({"0", "1", "2"}, 1, 3);
  expect_all_well({"0", "1", "2"});
  expect_numbers({"0", "1", "2"}, one, 2e-3);
}

TEST_F(LostChief, OneThatWasFrozenIsTakenIn) {
  const Words settings = {"epochs=16"};
  const std::vector<double> one = undisturbed(1, settings);
  cluster(3, {"epochs=16", "min_workers=2", "rejoin_timeout=1"});
  start_all();
  wait_for_steps({"0", "1", "2"}, 4);
  send("0", SIGSTOP);
  wait_until_they_go_on({"1", "2"}, 1, 2);
  send("0", SIGCONT);
  wait_until_they_go_on({"0", "1", "2"}, 2, 3);
  expect_all_well({"0", "1", "2"});
  expect_numbers({"0", "1", "2"}, one, 2e-3);
}

/// The old chief has its generation, its memory and its port, and nobody to do a step with.
TEST_F(LostChief, OneThatWakesTooLateEndsWithAnError) {
  const std::vector<double> one = undisturbed(1);
  cluster(3, {"min_workers=2", "rejoin_timeout=1"});
  start_all();
  wait_for_steps({"0", "1", "2"}, 4);
  send("0", SIGSTOP);
  expect_all_well({"1", "2"});
  expect_numbers({"1", "2"}, one, 2e-3);
  const int before = steps("0").count;
  send("0", SIGCONT);
  EXPECT_EQ(end_of("0"), 3) << story();
  EXPECT_LE(steps("0").count, before + 1);  // that it had done already
  EXPECT_THAT(said("0"), HasSubstr("rank 1"));
  EXPECT_FALSE(std::filesystem::exists(folder_.file("final-0")));
}

TEST_F(LostChief, TooFewEndWithAnErrorThatNamesTheOthers) {
  cluster(3, {"min_workers=2", "rejoin_timeout=1"});
  start_all();
  wait_for_steps({"0", "1", "2"}, 4);
  send("0", SIGKILL);
  send("1", SIGKILL);
  EXPECT_EQ(end_of("2"), 3) << story();
  EXPECT_THAT(said("2"), AllOf(HasSubstr("2 of 3 processes did not come"),
                                HasSubstr("min_workers is 2, and 1 is here")));
}

/// Nobody starts anything again, and nobody said that fewer go on.
TEST_F(LostChief, IsTheEndWhereNobodySaysOtherwise) {
  cluster(3, {});
  start_all();
  wait_for_steps({"0", "1", "2"}, 4);
  send("0", SIGKILL);
  for (const char* name : {"1", "2"}) {
    EXPECT_EQ(end_of(name), 3) << story();
    EXPECT_THAT(said(name), HasSubstr("PeerLostError"));
  }
}

}  // namespace
}  // namespace nyala::lost_chief_test
