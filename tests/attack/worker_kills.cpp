// attack_worker_kills [kills] [seed] [how]: three processes train one model, and are killed at random
// moments, in the middle of whatever they do. Where each is started again the weights and the history must be
// bit by bit those of a training that nobody disturbed; where those who are left go on alone, the same within
// rounding. Prints how long it took from each kill until the survivors had done their next step. How they
// meet and speak: "folder" (the default: a group of the tests' own, shared memory), or at a control plane, as
// under `nyala launch`, "memory" (shared memory) or "gloo" (TCP); with "elected" or "elected-gloo" one of
// them runs that, and the others elect another one when it is killed.
#include <fcntl.h>
#include <signal.h>
#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <random>
#include <sstream>
#include <string>

#include <nyala/nyala.h>
#include <nyala/strategies/control/cluster_process_group.h>
#include <nyala/strategies/cluster/simple_cluster_resolver.h>
#include <nyala/strategies/communicators/gloo_communicator.h>
#include <nyala/strategies/process_generations.h>
#include <nyala/tests/conformance/strategies/file_process_group.h>
#include <nyala/tests/support/free_port.h>

using namespace nyala;
namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kWorkers = 3, kEpochs = 12;
constexpr int64_t kRows = 92, kBatch = 8;
constexpr std::chrono::seconds kTimeout{5}, kTimeoutToMeet{60};

Tensor wave(const Shape& shape, double step) {
  std::vector<float> values;
  for (int64_t i = 0; i < shape.num_elements(); ++i)
    values.push_back(static_cast<float>(std::sin(static_cast<double>(i + 1) * step)));
  return Tensor::from(values).with_shape(shape);
}

std::string now() { return std::to_string(Clock::now().time_since_epoch().count()); }

/// What a process is told.
struct Task {
  std::string folder, name, how, port;
  std::vector<std::string> words() const { return {"--worker", folder, name, how, port}; }
};

std::shared_ptr<ProcessGroup> group_of(const Task& task) {
  if (task.how == "folder") return std::make_shared<FileProcessGroup>(task.folder, task.name, kTimeout);
  CommunicationOptions options{.timeout = kTimeoutToMeet};
  if (task.how.ends_with("gloo")) options.implementation = CommunicationImplementation::gloo;
  std::vector<std::string> addresses = {"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"};
  const bool elects = task.how.starts_with("elected"), again = task.port.starts_with("again");
  if (elects) {
    std::istringstream ports(task.port.substr(task.port.find(' ')));
    for (std::string& address : addresses) {
      ports >> address;
      address.insert(0, "127.0.0.1:");
    }
  }
  const SimpleClusterResolver resolver({.cluster_spec = ClusterSpec({{"worker", addresses}}),
                                        .task_type = "worker",
                                        .task_id = std::stoi(task.name)});
  if (elects)
    return detail::cluster_process_group(
        resolver, options, {{"NYALA_REJOIN", again ? "1" : "0"}},
        {.min_workers = again ? 0 : 1, .rejoin_timeout = std::chrono::seconds(3)});
  return detail::cluster_process_group(
      resolver, options, {{"NYALA_COORDINATOR", "127.0.0.1:" + task.port}, {"NYALA_REJOIN", "1"}});
}

/// One of the processes.
int work(const Task& task) {
  const Notes notes(task.folder);
  const std::string& name = task.name;
  const MultiWorkerMirroredStrategy several(group_of(task));
  set_random_seed(5);
  const Model model = several.scope([] {
    Sequential made(
        {Input({10}), Dense(24, {.activation = "tanh"}), BatchNormalization(), Dropout(0.2), Dense(3)});
    made.compile({.optimizer = Adam(0.005), .loss = "mse", .metrics = {"mae"}});
    return made;
  });
  const Tensor x = wave({kRows, 10}, 0.37), y = wave({kRows, 3}, 0.11);
  int64_t generation = 0;
  LambdaCallback tells({.on_epoch_end =
                            [&](int epoch, Logs&) {
                              if (epoch == kEpochs - 1) notes.write("ends-" + name, "");
                            },
                        .on_train_batch_end =
                            [&](int64_t, Logs&) {
                              const int64_t current = several.node().generations()->number();
                              if (current != generation)
                                notes.write("step-" + name + "-" + std::to_string(current), now());
                              generation = current;
                            }});
  FitConfig fit{.batch_size = kBatch, .epochs = kEpochs, .verbose = 0, .callbacks = {tells}};
  fit.validation_data = {x.rows(0, 20), y.rows(0, 20)};
  const History history = model.fit(x, y, fit);
  std::vector<double> numbers;
  for (const Tensor& weight : model.get_weights())
    for (const float value : weight.to_vector<float>()) numbers.push_back(value);
  for (const auto& [metric, values] : history) numbers.insert(numbers.end(), values.begin(), values.end());
  notes.write("final-" + name,
              std::string(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(double)));
  return 0;
}

std::vector<double> numbers_in(const std::string& text) {
  std::vector<double> numbers(text.size() / sizeof(double));
  std::memcpy(numbers.data(), text.data(), numbers.size() * sizeof(double));
  return numbers;
}

/// One training, from outside.
class Training {
 public:
  Training(const std::string& program, std::string folder, std::string how, bool again)
      : program_(program), folder_(std::move(folder)), how_(std::move(how)), keeper_(folder_) {
    ports_ = again ? "again" : "fewer";
    for (int slot = 0; slot < kWorkers; ++slot) ports_ += " " + std::to_string(free_port());
    if (how_ == "memory" || how_ == "gloo")
      server_ = std::make_unique<detail::ControlServer>(
          detail::HostPort{"127.0.0.1", 0}, detail::ControlSecurity{},
          detail::ControlStateOptions{
              .size = kWorkers, .min_size = again ? 0 : 1, .rejoin_timeout = std::chrono::seconds(3)});
    for (int slot = 0; slot < kWorkers; ++slot) start(slot);
    keeper_.begin(names());
  }
  ~Training() {
    for (const auto& [slot, worker] : workers_) {
      ::kill(worker.id, SIGKILL);
      ::waitpid(worker.id, nullptr, 0);
    }
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;

  bool runs() const { return !workers_.empty(); }
  bool failed() const { return failed_; }
  /// Whether it is in the middle of its steps, as far as `slot` and another one have come.
  bool may_kill(int slot) const {
    if (!workers_.contains(slot)) return false;
    bool another = false;
    for (const auto& [other, worker] : workers_) {
      if (keeper_.notes().has("ends-" + worker.name)) return false;
      another = another || (other != slot && has_stepped(worker.name));
    }
    return another;
  }
  /// False where that one ends its training just now: the others would not miss it. While it stands still
  /// before that they cannot end theirs.
  bool kill(int slot, bool again) {
    const Worker worker = workers_.at(slot);
    int status = 0;
    ::kill(worker.id, SIGSTOP);
    if (::waitpid(worker.id, &status, WUNTRACED) != worker.id || !WIFSTOPPED(status)) {
      note_end(worker, status);
      workers_.erase(slot);
      keeper_.set_members(names());
      return false;
    }
    if (keeper_.notes().has("ends-" + worker.name)) {
      ::kill(worker.id, SIGCONT);
      return false;
    }
    ::kill(worker.id, SIGKILL);
    ::waitpid(worker.id, nullptr, 0);
    killed_at_.push_back(Clock::now().time_since_epoch().count());
    workers_.erase(slot);
    if (again) start(slot);
    keeper_.begin(names());
    return true;
  }
  /// Looks after them; true once all have ended.
  bool look() {
    for (auto worker = workers_.begin(); worker != workers_.end();) {
      int status = 0;
      if (::waitpid(worker->second.id, &status, WNOHANG) != worker->second.id) {
        ++worker;
        continue;
      }
      note_end(worker->second, status);
      worker = workers_.erase(worker);
      keeper_.set_members(names());
    }
    keeper_.look();
    return workers_.empty();
  }
  const std::vector<std::string>& finals() const { return finals_; }
  /// Seconds from each kill to the first step in a generation that was made after it.
  std::vector<double> waits() const {
    std::vector<int64_t> steps;
    for (const auto& entry : fs::directory_iterator(folder_))
      if (entry.path().filename().string().starts_with("step-"))
        steps.push_back(std::atoll(keeper_.notes().read(entry.path().filename().string()).c_str()));
    std::ranges::sort(steps);
    std::vector<double> waits;
    for (const int64_t killed : killed_at_) {
      const auto step = std::ranges::upper_bound(steps, killed);
      if (step != steps.end()) waits.push_back(static_cast<double>(*step - killed) * 1e-9);
    }
    return waits;
  }

 private:
  struct Worker {
    pid_t id;
    std::string name;
  };
  void note_end(const Worker& worker, int status) {
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      std::printf("worker %s ended with status %d:\n%s\n", worker.name.c_str(), status,
                  keeper_.notes().read("log-" + worker.name).c_str());
      failed_ = true;
    }
    finals_.push_back(keeper_.notes().read("final-" + worker.name));
  }
  bool has_stepped(const std::string& name) const {
    for (const auto& entry : fs::directory_iterator(folder_))
      if (entry.path().filename().string().starts_with("step-" + name + "-")) return true;
    return false;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& [slot, worker] : workers_) names.push_back(worker.name);
    return names;
  }
  void start(int slot) {
    const std::string name = std::to_string(slot) + "." + std::to_string(starts_++);
    std::vector<std::string> words =
        Task{folder_, name, how_, server_ ? std::to_string(server_->address().port) : ports_}.words();
    words.insert(words.begin(), program_);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const std::string log = folder_ + "/log-" + name;
    const pid_t id = ::fork();
    if (id == 0) {
      const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      if (file < 0 || ::dup2(file, STDERR_FILENO) < 0) ::_exit(126);
      ::execv(program_.c_str(), arguments.data());
      ::_exit(127);
    }
    workers_[slot] = {id, name};
  }

  std::string program_, folder_, how_, ports_;
  std::unique_ptr<detail::ControlServer> server_;
  FileGroupKeeper keeper_;
  std::map<int, Worker> workers_;
  std::vector<std::string> finals_;
  std::vector<int64_t> killed_at_;
  int starts_ = 0;
  bool failed_ = false;
};

std::string new_folder() {
  std::string name = (fs::temp_directory_path() / "nyala-kills-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) std::exit(2);
  return name;
}

void rest() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }

/// Lets `training` end. False where it does not.
bool ends(Training& training, double seconds) {
  for (const auto begun = Clock::now(); !training.look(); rest())
    if (std::chrono::duration<double>(Clock::now() - begun).count() > seconds) return false;
  return !training.failed();
}

bool is_right(const std::vector<std::string>& finals, const std::string& expected, bool bitwise) {
  if (bitwise) return std::ranges::all_of(finals, [&](const std::string& one) { return one == expected; });
  const std::vector<double> wanted = numbers_in(expected);
  for (const std::string& text : finals) {
    const std::vector<double> got = numbers_in(text);
    if (got.size() != wanted.size()) return false;
    for (size_t i = 0; i < got.size(); ++i)
      if (!(std::abs(got[i] - wanted[i]) <= 2e-3 * (1 + std::abs(wanted[i])))) return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 6 && std::string(argv[1]) == "--worker") {
    try {
      return work({argv[2], argv[3], argv[4], argv[5]});
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      return 1;
    }
  }
  const int wanted = argc > 1 ? std::atoi(argv[1]) : 200;
  const unsigned seed = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 1;
  const std::string how = argc > 3 ? argv[3] : "folder";
  if ((how != "folder" && !detail::grpc_is_built()) || (how.ends_with("gloo") && !gloo_is_built())) {
    std::printf("this build has no gRPC or no Gloo\n");
    return 77;
  }
  const std::string program = fs::canonical("/proc/self/exe").string();
  std::mt19937 random(seed);
  std::string expected;
  const auto begun = Clock::now();
  {
    Training undisturbed(program, new_folder(), how, true);
    if (!ends(undisturbed, 120) || undisturbed.finals().size() != kWorkers) return 1;
    expected = undisturbed.finals()[0];
    if (expected.empty() || !is_right(undisturbed.finals(), expected, true)) return 1;
  }
  const double whole = std::chrono::duration<double>(Clock::now() - begun).count();
  std::vector<double> waits[2];
  int kills = 0, trainings = 0;
  while (kills < wanted) {
    const bool again = trainings++ % 3 != 2;
    Training training(program, new_folder(), how, again);
    const int most = again ? 4 : 2;
    for (int killed = 0; killed < most && kills < wanted && training.runs();) {
      const double wait = std::uniform_real_distribution<double>(0, whole / 3)(random);
      for (const auto from = Clock::now(); std::chrono::duration<double>(Clock::now() - from).count() < wait;
           rest())
        if (training.look()) break;
      const int slot = static_cast<int>(random() % kWorkers);
      if (!training.may_kill(slot) || !training.kill(slot, again)) continue;
      ++killed;
      ++kills;
    }
    if (!ends(training, 120) || !is_right(training.finals(), expected, again)) {
      std::printf("training %d (seed %u, %s) went wrong after %d kills\n", trainings, seed,
                  again ? "each started again" : "fewer went on", kills);
      return 1;
    }
    for (const double wait : training.waits()) waits[again].push_back(wait);
  }
  for (const int again : {1, 0}) {
    std::vector<double>& all = waits[again];
    std::ranges::sort(all);
    if (!all.empty())
      std::printf("%s: %zu waits, median %.3f s, longest %.3f s\n", again ? "started again" : "fewer went on",
                  all.size(), all[all.size() / 2], all.back());
  }
  std::printf("%d kills in %d trainings, all right (undisturbed: %.2f s)\n", kills, trainings, whole);
  return 0;
}
