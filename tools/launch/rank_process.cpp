#include <nyala/tools/launch/rank_process.h>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include <nyala/backend/core/error.h>

namespace nyala::tools {

namespace {

/// Both ends of a pipe, closed when a program is run.
struct Pipe {
  Pipe() {
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
      throw IoError("launch: no pipe: " + std::generic_category().message(errno));
  }
  ~Pipe() {
    for (const int end : ends)
      if (end >= 0) ::close(end);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  int take(int end) { return std::exchange(ends[static_cast<size_t>(end)], -1); }

  std::array<int, 2> ends{-1, -1};
};

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (const std::string& text : texts) all.push_back(const_cast<char*>(text.c_str()));
  all.push_back(nullptr);
  return all;
}

/// In the child, between fork and exec: nothing but what is safe in a signal handler.
void become(char* const* arguments, char* const* environment, const std::array<int, 3>& streams,
            pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // it has ended before
  for (const int number : {SIGPIPE, SIGXFSZ, SIGINT, SIGTERM, SIGHUP, SIGCHLD}) ::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int stream = 0; stream < 3; ++stream) ::dup2(streams[static_cast<size_t>(stream)], stream);
  ::execvpe(arguments[0], arguments, environment);
}

}  // namespace

RankProcess::RankProcess(const ProcessStart& start) {
  Pipe input, output, errors, trouble;
  const std::vector<char*> arguments = pointers(start.arguments), environment = pointers(start.environment);
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const std::array<int, 3> streams = {start.input ? input.ends[0] : null, output.ends[1], errors.ends[1]};
  const pid_t parent = ::getpid();
  id_ = ::fork();
  if (id_ == 0) {
    become(arguments.data(), environment.data(), streams, parent);
    const int error = errno;
    [[maybe_unused]] const ssize_t sent = ::write(trouble.ends[1], &error, sizeof error);
    ::_exit(127);
  }
  if (null >= 0) ::close(null);
  if (id_ < 0) throw IoError("launch: no process: " + std::generic_category().message(errno));
  ::setpgid(id_, id_);  // whoever comes first
  ::close(trouble.take(1));
  int error = 0;
  ssize_t size = 0;
  while ((size = ::read(trouble.ends[0], &error, sizeof error)) < 0 && errno == EINTR) {
  }
  if (size == sizeof error) {
    ::waitpid(id_, nullptr, 0);
    throw IoError("launch: cannot run " + detail::in_quotes(start.arguments[0]) + ": " +
                  std::generic_category().message(error));
  }
  input_ = start.input ? input.take(1) : -1;
  // Fewer bytes than a pipe holds: nobody has to read them meanwhile.
  if (start.input && ::write(input_, start.input->data(), start.input->size()) < 0)
    throw IoError("launch: cannot write to " + detail::in_quotes(start.arguments[0]) + ": " +
                  std::generic_category().message(errno));
  output_ = output.take(0);
  errors_ = errors.take(0);
  for (const int stream : {output_, errors_}) ::fcntl(stream, F_SETFL, O_NONBLOCK);
}

RankProcess::~RankProcess() {
  if (id_ > 0) {
    signal(SIGKILL);
    collect();
  }
  close_all();
}

bool RankProcess::is_stopped() const {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    std::ifstream in(entry.path() / "stat");
    std::string text;
    std::getline(in, text);
    const size_t name_end = text.rfind(") ");  // a name may have anything in it
    if (name_end == std::string::npos) continue;
    std::istringstream fields(text.substr(name_end + 2));
    std::string state;
    pid_t parent = 0, group = 0;
    if (fields >> state >> parent >> group && group == id_ && state == "T") return true;
  }
  return false;
}

void RankProcess::signal(int number) const {
  if (id_ > 0) ::kill(-id_, number);
}

int RankProcess::collect() {
  signal(SIGKILL);  // before it is waited for: until then nobody else can have its number
  int status = 0;
  while (::waitpid(id_, &status, 0) < 0 && errno == EINTR) {
  }
  id_ = 0;
  return status;
}

void RankProcess::close_all() {
  for (const int stream : {input_, output_, errors_})
    if (stream >= 0) ::close(stream);
}

}  // namespace nyala::tools
