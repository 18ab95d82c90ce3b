#include <nyala/tools/launch/group_guard.h>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <set>
#include <system_error>

#include <nyala/backend/core/error.h>

namespace nyala::tools {

namespace {

/// Processes that were killed may write for a moment.
void remove_folder(const std::string& folder) {
  std::error_code ignored;
  for (int tries = 0; tries < 100 && std::filesystem::exists(folder, ignored); ++tries) {
    std::filesystem::remove_all(folder, ignored);
    ::usleep(20'000);
  }
}

[[noreturn]] void guard_groups(int messages, const std::string& folder) {
  ::setsid();  // no terminal's signals
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  for (const int stream : {0, 1, 2}) ::close(stream);  // who reads them must not wait for this process
  std::set<pid_t> groups;
  pid_t message = 0;
  for (ssize_t size; (size = ::read(messages, &message, sizeof message)) != 0;) {
    if (size < 0 && errno != EINTR) break;
    if (size != sizeof message) continue;
    if (message > 0)
      groups.insert(message);
    else
      groups.erase(-message);
  }
  for (const pid_t group : groups) ::kill(-group, SIGKILL);
  if (!folder.empty()) remove_folder(folder);
  ::_exit(0);
}

}  // namespace

GroupGuard::GroupGuard(const std::string& folder) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    throw IoError("launch: no pipe: " + std::generic_category().message(errno));
  id_ = ::fork();
  if (id_ == 0) {
    ::close(ends[1]);
    guard_groups(ends[0], folder);
  }
  ::close(ends[0]);
  messages_ = ends[1];
  if (id_ < 0) throw IoError("launch: no process: " + std::generic_category().message(errno));
}

GroupGuard::~GroupGuard() {
  ::close(messages_);
  while (::waitpid(id_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void GroupGuard::send(pid_t message) const {
  while (::write(messages_, &message, sizeof message) < 0 && errno == EINTR) {
  }
}

}  // namespace nyala::tools
