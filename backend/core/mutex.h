#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include <nyala/backend/core/fork.h>

namespace nyala {

/// A std::mutex that survives fork(). What another thread of the parent held at that moment is lost in the
/// child: lock() throws StateError there instead of waiting for ever, since what the mutex guards may be half
/// written.
class Mutex {
 public:
  enum class AtFork {
    is_lost,    // where another thread holds it
    is_waited,  // fork() waits until nobody holds it, up to a second: for what every thread needs all the
                // time
  };

  Mutex() = default;
  explicit Mutex(AtFork at_fork);
  ~Mutex();
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() {
    if (!lock_unless_lost()) throw_lost();
  }
  /// False where it is lost; for where nothing may be thrown.
  bool lock_unless_lost() noexcept { return try_lock() || lock_slowly(); }
  bool try_lock() noexcept {
    uint32_t free = kFree;
    return state_.compare_exchange_strong(free, held(), std::memory_order_acquire, std::memory_order_relaxed);
  }
  void unlock() noexcept {
    if (state_.exchange(kFree, std::memory_order_release) & kAwaited) wake();
  }

 private:
  friend class ForkHandlers;
  static constexpr uint32_t kFree = 0, kAwaited = 1;
  /// The state while a thread of this process holds it.
  static uint32_t held() noexcept { return (forks() + 1) << 1; }
  bool lock_slowly() noexcept;
  void wake() noexcept;
  /// Lets the thread that holds it call wake(); false.
  bool ask() noexcept;
  [[noreturn]] static void throw_lost();

  std::atomic<uint32_t> state_{kFree};
  bool is_listed_ = false;
  bool taken_ = false;  // by the thread that calls fork()
  Mutex *before_ = nullptr, *behind_ = nullptr;
};

/// A Mutex that the thread that holds it may lock again.
class RecursiveMutex {
 public:
  explicit RecursiveMutex(Mutex::AtFork at_fork) : mutex_(at_fork) {}

  void lock() {
    if (owner_.load(std::memory_order_relaxed) != thread_number()) {
      mutex_.lock();
      owner_.store(thread_number(), std::memory_order_relaxed);
    }
    ++depth_;
  }
  void unlock() noexcept {
    if (--depth_ > 0) return;
    owner_.store(0, std::memory_order_relaxed);
    mutex_.unlock();
  }

 private:
  Mutex mutex_;
  std::atomic<uint64_t> owner_{0};
  int depth_ = 0;
};

/// A std::condition_variable for any lock, which a child of fork() can destroy though threads of its parent
/// wait for it.
class Condition {
 public:
  template <class Lock, class Holds>
  void wait(Lock& lock, Holds&& holds) {
    while (!holds()) {
      const uint32_t seen = changes_.load(std::memory_order_acquire);
      lock.unlock();
      changes_.wait(seen, std::memory_order_acquire);
      lock.lock();
    }
  }
  void notify_all() noexcept {
    changes_.fetch_add(1, std::memory_order_release);
    changes_.notify_all();
  }

 private:
  std::atomic<uint32_t> changes_{0};
};

}  // namespace nyala
