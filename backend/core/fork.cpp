// A fork() copies one thread, and every lock as it is then. So mutexes that are waited for are all taken
// before it (pthread_atfork), for a second at most, and are free in both processes after; of others the
// owner's number tells the child that it was left behind, and locking one is an error instead of waiting for
// ever. A std::mutex has no owner to ask.
#include <nyala/backend/core/fork.h>

#include <omp.h>
#include <pthread.h>

#include <atomic>
#include <chrono>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/mutex.h>

namespace nyala {

using namespace nyala::detail;

namespace {

constinit std::atomic<uint32_t> g_forks{0};
constinit std::atomic<uint64_t> g_threads{0};
// The thread that came over with the last fork(), and the highest number that was given before it.
constinit std::atomic<uint64_t> g_survivor{0}, g_given_before{0};

}  // namespace

uint32_t forks() noexcept { return g_forks.load(std::memory_order_relaxed); }

uint64_t thread_number() noexcept {
  thread_local const uint64_t number = g_threads.fetch_add(1) + 1;
  return number;
}

bool lost_in_fork(uint64_t thread) noexcept { return thread <= g_given_before && thread != g_survivor; }

/// What happens around fork(): mutexes that are waited for are held, so that what they guard is whole in the
/// child.
class ForkHandlers {
 public:
  /// Where fork() waits for mutexes, threads leave it a moment between one and the next.
  static void give_way() noexcept {
    if (waiting_.load(std::memory_order_relaxed)) std::this_thread::sleep_for(2 * kPause);
  }

  static bool install() { return pthread_atfork(before, in_parent, in_child) == 0; }

  static void add(Mutex& mutex) {
    list_.lock();
    mutex.behind_ = first_;
    if (first_) first_->before_ = &mutex;
    first_ = &mutex;
    list_.unlock();
  }
  static void remove(Mutex& mutex) {
    list_.lock();
    (mutex.before_ ? mutex.before_->behind_ : first_) = mutex.behind_;
    if (mutex.behind_) mutex.behind_->before_ = mutex.before_;
    list_.unlock();
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kPatience{1};
  static constexpr std::chrono::microseconds kPause{50};

  static void before() {
    // libgomp's idle threads would be missing in the child, whose next team would wait for them for ever:
    // this ends those of the calling thread, and both processes make new ones when they need them.
    omp_pause_resource_all(omp_pause_soft);
    const Clock::time_point end = Clock::now() + kPatience;
    for (;;) {
      list_.lock();
      const bool last = Clock::now() > end;  // what is free is held, the rest is lost in the child
      if (take_all() || last) break;
      waiting_ = true;
      release_all();
      list_.unlock();
      std::this_thread::sleep_for(kPause);
    }
    waiting_ = false;
  }

  static bool take_all() {
    bool all = true;
    for (Mutex* mutex = first_; mutex; mutex = mutex->behind_) {
      mutex->taken_ = mutex->try_lock() || mutex->ask();
      all = all && mutex->taken_;
    }
    return all;
  }

  static void release_all() {
    for (Mutex* mutex = first_; mutex; mutex = mutex->behind_)
      if (std::exchange(mutex->taken_, false)) mutex->unlock();
  }

  static void in_parent() {
    release_all();
    list_.unlock();
  }

  static void in_child() {
    g_survivor = thread_number();
    g_given_before = g_threads.load();
    ++g_forks;
    in_parent();
  }

  static inline constinit std::atomic<bool> waiting_{false};
  static inline constinit Mutex list_;
  static inline constinit Mutex* first_ = nullptr;
};

namespace {

// Before anybody can fork: a child that came into being unseen would wait for its parent's threads.
[[maybe_unused]] const bool g_installed = ForkHandlers::install();

}  // namespace

Mutex::Mutex(AtFork at_fork) : is_listed_(at_fork == AtFork::is_waited) {
  if (is_listed_) ForkHandlers::add(*this);
}

Mutex::~Mutex() {
  if (is_listed_) ForkHandlers::remove(*this);
}

bool Mutex::lock_slowly() noexcept {
  for (;;) {
    uint32_t state = state_.load(std::memory_order_relaxed);
    if (state == kFree) {
      // Others may wait, too: whoever unlocks looks.
      if (state_.compare_exchange_weak(state, held() | kAwaited, std::memory_order_acquire)) return true;
      continue;
    }
    if ((state & ~kAwaited) != held()) return false;
    if (!(state & kAwaited) && !state_.compare_exchange_weak(state, state | kAwaited)) continue;
    state_.wait(state | kAwaited, std::memory_order_relaxed);
  }
}

bool Mutex::ask() noexcept {
  uint32_t state = held();
  state_.compare_exchange_strong(state, state | kAwaited);
  return false;
}

void Mutex::wake() noexcept {
  state_.notify_one();
  ForkHandlers::give_way();
}

void Mutex::throw_lost() {
  throw StateError(
      "this process was forked while another thread of its parent was at work with what is asked for here, "
      "which so is not whole in this process; fork while no other thread uses it, or begin a new program "
      "(posix_spawn, exec) instead");
}

}  // namespace nyala
