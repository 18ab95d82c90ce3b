// The share of time that the team's threads could run but had no core comes from Linux: the second number of
// /proc/thread-self/schedstat, against the threads' own CPU clock. Looked at every 5 ms at most, and only
// where 2 ms of work have come together. IdleThreads decides, Crowd does it: libgomp has no call to change
// how long its threads spin once they exist.
#include <nyala/backend/runtime/busy_cores.h>
#include <nyala/backend/runtime/idle_threads.h>

#include <fcntl.h>
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace nyala {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// Nanoseconds that threads ran, and that they could have run but waited for a core.
struct Times {
  int64_t ran = 0;
  int64_t waited = 0;

  Times operator-(const Times& other) const { return {ran - other.ran, waited - other.waited}; }
  double share_waited() const {
    return static_cast<double>(waited) / static_cast<double>(std::max<int64_t>(ran + waited, 1));
  }
};

/// The second number of the calling thread's schedstat; -1 where there is none. The first one is no good: it
/// is old by up to a tick of the scheduler.
int64_t thread_waited() {
  const int file = ::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  char text[96];
  const ssize_t size = ::read(file, text, sizeof text - 1);
  ::close(file);
  if (size <= 0) return -1;
  text[size] = '\0';
  char* rest = text;
  std::strtoll(text, &rest, 10);
  return std::strtoll(rest, nullptr, 10);
}

Times times_of_team(int team) {
  int64_t ran = 0, waited = 0;
#pragma omp parallel num_threads(team) reduction(+ : ran, waited)
  {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    ran += int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
    waited += thread_waited();
  }
  return {ran, waited};
}

bool may_watch() {
  static const bool may = std::getenv("GOMP_SPINCOUNT") == nullptr &&
                          std::getenv("OMP_WAIT_POLICY") == nullptr && thread_waited() >= 0;
  return may;
}

/// What a thread that makes teams saw last.
class Watcher {
 public:
  void look(int team) {
    const Clock::time_point now = Clock::now();
    if (now - looked_ < kPeriod) return;
    looked_ = now;
    const Times times = times_of_team(team);
    const Times passed = times - before_;
    const bool comparable = team == team_ && passed.ran >= 0 && passed.waited >= 0;
    if (comparable && passed.ran + passed.waited < kEnough) return;
    before_ = times;
    team_ = team;
    if (comparable) IdleThreads::instance().hear(passed.share_waited(), team, now);
  }

 private:
  static constexpr milliseconds kPeriod{5};
  static constexpr int64_t kEnough = 2'000'000;

  Clock::time_point looked_{};
  Times before_;
  int team_ = 0;
};

}  // namespace

void watch_busy_cores(int team) noexcept {
  if (team < 2 || !may_watch() || omp_in_parallel()) return;
  // A program of a few milliseconds ends before its waiting is seen: idle threads block at first.
  [[maybe_unused]] static const bool begun = [team] {
    IdleThreads::instance().begin(team, Clock::now());
    return true;
  }();
  thread_local Watcher watcher;
  watcher.look(team);
}

bool idle_threads_block() { return IdleThreads::instance().block(); }

}  // namespace nyala
