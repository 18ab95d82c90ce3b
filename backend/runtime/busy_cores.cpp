#include <nyala/backend/runtime/busy_cores.h>

#include <fcntl.h>
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

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

/// libgomp spins 100 rounds instead of 300,000 while it has more threads than there are cores, whatever they
/// do (its manual, GOMP_SPINCOUNT; it offers no call for this). So here they are: asleep until they are
/// dismissed.
class Crowd {
 public:
  bool is_there() const { return there_.load(std::memory_order_relaxed); }

  void gather(int team) try {
    const int missing = std::max(omp_get_num_procs() - (team - 1), 1);
    dismissed_ = std::make_shared<std::atomic<bool>>(false);
    std::thread([dismissed = dismissed_, missing] {
      std::atomic<int> here{0};
#pragma omp parallel num_threads(missing + 1)
      here.fetch_add(1, std::memory_order_relaxed);
      dismissed->wait(false);
    }).detach();  // nobody waits for it: a forked child would wait for ever
    there_ = true;
  } catch (const std::exception&) {
    dismissed_.reset();  // no thread to be had: idle ones go on spinning
  }

  void dismiss() {
    there_ = false;
    dismissed_->store(true);
    dismissed_->notify_one();
    dismissed_.reset();
  }

 private:
  std::shared_ptr<std::atomic<bool>> dismissed_;
  std::atomic<bool> there_{false};
};

/// What the watchers of all threads decide together.
class Decision {
 public:
  static Decision& instance() {
    static Decision* const decision =
        new Decision;  // threads may ask while static objects are being destroyed
    return *decision;
  }

  bool idle_threads_block() const { return crowd_.is_there(); }

  /// A program that ends within milliseconds ends before its waiting is seen: idle threads block at first.
  void begin(int team, Clock::time_point now) {
    std::lock_guard lock(mutex_);
    if (begun_) return;
    begun_ = true;
    busy_ = now;
    crowd_.gather(team);
  }

  void hear(double share_waited, int team, Clock::time_point now) {
    std::lock_guard lock(mutex_);
    if (!crowd_.is_there()) {
      if (share_waited < kMuch) return;
      // Where blocking makes the cores look free, they are tried less and less often.
      patience_ = now - left_ < 8 * patience_ ? std::min(2 * patience_, kLongest) : kShortest;
      busy_ = now;
      crowd_.gather(team);
    } else if (share_waited > kLittle) {
      busy_ = now;
    } else if (now - busy_ > patience_) {
      left_ = now;
      crowd_.dismiss();
    }
  }

 private:
  static constexpr double kMuch = 0.15, kLittle = 0.05;
  static constexpr milliseconds kShortest{250}, kLongest{8000};

  std::mutex mutex_;
  bool begun_ = false;
  Crowd crowd_;
  milliseconds patience_ = kShortest;
  Clock::time_point busy_{}, left_{};
};

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
    if (team_ == 0) Decision::instance().begin(team, now);
    const bool comparable = team == team_ && passed.ran >= 0 && passed.waited >= 0;
    if (comparable && passed.ran + passed.waited < kEnough) return;
    before_ = times;
    team_ = team;
    if (comparable) Decision::instance().hear(passed.share_waited(), team, now);
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
  thread_local Watcher watcher;
  watcher.look(team);
}

bool idle_threads_block() { return Decision::instance().idle_threads_block(); }

}  // namespace nyala
