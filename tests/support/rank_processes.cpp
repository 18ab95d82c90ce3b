#include <nyala/tests/support/rank_processes.h>

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

namespace nyala {

namespace {

constexpr const char *kRank = "NYALA_TEST_RANK", *kSize = "NYALA_TEST_RANKS",
                     *kFolder = "NYALA_TEST_RANK_FOLDER";

std::string text_of(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

std::string contents_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

std::optional<int> RankProcesses::rank() {
  const std::string text = text_of(kRank);
  if (text.empty()) return std::nullopt;
  return std::stoi(text);
}

int RankProcesses::size() { return std::stoi(text_of(kSize)); }
std::string RankProcesses::folder() { return text_of(kFolder); }

void RankProcesses::note(const std::string& name, const std::string& text) {
  const std::string path = folder() + "/" + name;
  std::ofstream(path + "-new") << text;
  std::filesystem::rename(path + "-new", path);
}

bool RankProcesses::wait_for_note(const std::string& name) {
  for (int i = 0; i < 20'000; ++i) {
    if (std::filesystem::exists(folder() + "/" + name)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

RankProcesses::RankProcesses(int size) : ids_(static_cast<size_t>(size)) {
  const ::testing::TestInfo* const test = ::testing::UnitTest::GetInstance()->current_test_info();
  test_ = std::string(test->test_suite_name()) + "." + test->name();
  ::setenv(kSize, std::to_string(size).c_str(), 1);
  ::setenv(kFolder, folder_.path().c_str(), 1);
  for (int rank = 0; rank < size; ++rank) start(rank);
}

RankProcesses::~RankProcesses() {
  for (size_t rank = 0; rank < ids_.size(); ++rank)
    if (ids_[rank] > 0) wait(static_cast<int>(rank), std::chrono::milliseconds(0));
  ::unsetenv(kSize);
  ::unsetenv(kFolder);
}

void RankProcesses::start(int rank) {
  const std::string filter = "--gtest_filter=" + test_, output = output_of(rank);
  ::setenv(kRank, std::to_string(rank).c_str(), 1);
  const pid_t id = ::fork();
  if (id == 0) {
    const int file = ::open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    ::dup2(file, STDOUT_FILENO);
    ::dup2(file, STDERR_FILENO);
    ::execl("/proc/self/exe", "ranks", filter.c_str(), "--gtest_brief=1", nullptr);
    ::_exit(127);
  }
  ::unsetenv(kRank);
  if (id < 0) throw std::runtime_error("no process");
  ids_[static_cast<size_t>(rank)] = id;
}

void RankProcesses::send(int rank, int signal) { ::kill(ids_[static_cast<size_t>(rank)], signal); }

RankProcesses::End RankProcesses::wait(int rank, std::chrono::milliseconds time) {
  pid_t& id = ids_[static_cast<size_t>(rank)];
  const auto deadline = std::chrono::steady_clock::now() + time;
  int status = 0;
  while (::waitpid(id, &status, WNOHANG) != id) {
    if (std::chrono::steady_clock::now() >= deadline) {
      ::kill(id, SIGKILL);
      while (::waitpid(id, &status, 0) < 0 && errno == EINTR) {
      }
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return end_of(rank, status);
}

std::optional<RankProcesses::End> RankProcesses::ended(int rank) {
  int status = 0;
  const pid_t id = ids_[static_cast<size_t>(rank)];
  if (id <= 0 || ::waitpid(id, &status, WNOHANG) != id) return std::nullopt;
  return end_of(rank, status);
}

RankProcesses::End RankProcesses::end_of(int rank, int status) {
  ids_[static_cast<size_t>(rank)] = 0;
  End end;
  if (WIFEXITED(status)) end.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  end.output = contents_of(output_of(rank));
  return end;
}

}  // namespace nyala
