// Kept threads instead of std::async, which makes and ends one for each part of each step. Worker i waits for
// its round to change, spins a moment and then sleeps (a futex behind std::atomic::wait); the caller does the
// first part itself. The workers of a call are leased, so that nested calls and other threads get others; a
// child of fork() begins without any.
#include <nyala/backend/runtime/together.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <nyala/backend/core/caught_error.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/mutex.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/backend/runtime/cpu_hints.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/backend/runtime/thread_team.h>

namespace nyala {

using namespace nyala::detail;

namespace {

/// One thread that waits for jobs. Lives as long as the process.
class Worker {
 public:
  Worker() : thread_(start_thread([this] { work(); })) { thread_.detach(); }

  void start(const std::function<void(size_t)>& body, size_t index, const ThreadContext& context) {
    body_ = &body;
    index_ = index;
    context_ = &context;
    busy_.store(true, std::memory_order_relaxed);
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_one();
  }

  /// Throws what the body threw.
  void wait(int spins) {
    for (int spin = 0; spin < spins && busy_.load(std::memory_order_acquire); ++spin) spin_pause();
    busy_.wait(true, std::memory_order_acquire);
    error_.rethrow();
  }

 private:
  // Spinning longer would take a core from the OpenMP team of the thread that gives the work.
  static constexpr int kSpins = 2000;

  void work() {
    uint32_t seen = 0;
    for (;;) {
      for (int spin = 0; spin < kSpins && round_.load(std::memory_order_acquire) == seen; ++spin)
        spin_pause();
      round_.wait(seen, std::memory_order_acquire);
      seen = round_.load(std::memory_order_acquire);
      thread_context() = *context_;
      try {
        (*body_)(index_);
      } catch (...) {
        error_.keep();
      }
      if (forks() != made_in_) return;  // nobody waits in this process, which the body made
      thread_context() = {};
      busy_.store(false, std::memory_order_release);
      busy_.notify_one();
    }
  }

  const std::function<void(size_t)>* body_ = nullptr;
  const ThreadContext* context_ = nullptr;
  size_t index_ = 0;
  CaughtError error_;
  std::atomic<uint32_t> round_{0};
  std::atomic<bool> busy_{false};
  const uint32_t made_in_ = forks();
  std::thread thread_;
};

struct Pool {
  Mutex mutex{Mutex::AtFork::is_waited};
  std::vector<Worker*> idle;  // room for all that exist
  size_t existing = 0;
  uint32_t made_in = forks();

  /// Its workers; those that stayed in the parent of this process are forgotten.
  std::vector<Worker*>& idle_here() {
    if (std::exchange(made_in, forks()) != forks()) {
      idle.clear();
      existing = 0;
    }
    return idle;
  }
};

Pool& pool() {
  static Pool* const all = new Pool;  // its threads outlive static objects
  return *all;
}

/// Workers that nobody else uses meanwhile.
class Lease {
 public:
  explicit Lease(size_t count) {
    workers_.reserve(count);
    std::lock_guard lock(pool().mutex);
    std::vector<Worker*>& idle = pool().idle_here();
    idle.reserve(pool().existing + count);
    while (idle.size() < count) {
      idle.push_back(new Worker);
      ++pool().existing;
    }
    for (; workers_.size() < count; idle.pop_back()) workers_.push_back(idle.back());
  }
  ~Lease() {
    if (forks() != taken_in_ || !pool().mutex.lock_unless_lost()) return;
    const std::lock_guard lock(pool().mutex, std::adopt_lock);
    std::vector<Worker*>& idle = pool().idle_here();
    idle.insert(idle.end(), workers_.rbegin(), workers_.rend());
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  const std::vector<Worker*>& workers() const { return workers_; }
  /// The calling thread came alone out of a fork() inside the work.
  void check_here() const {
    if (forks() != taken_in_)
      throw StateError(
          "fork() was called inside work that runs on several threads, which are not in the child; "
          "only exec and _exit may follow there");
  }

 private:
  std::vector<Worker*> workers_;
  const uint32_t taken_in_ = forks();
};

}  // namespace

void run_together(size_t count, const std::function<void(size_t)>& body) {
  if (count == 0) return;
  const Lease lease(count - 1);
  const ThreadContext context = thread_context();
  for (size_t i = 1; i < count; ++i) lease.workers()[i - 1]->start(body, i, context);
  CaughtError error;  // keeps the first
  const auto keeping = [&error](auto&& work) {
    try {
      work();
    } catch (...) {
      error.keep();
    }
  };
  keeping([&] { body(0); });
  lease.check_here();
  const int spins = static_cast<int>(count) <= available_cores() ? 20000 : 0;
  for (Worker* worker : lease.workers()) keeping([&] { worker->wait(spins); });
  error.rethrow();
}

}  // namespace nyala
