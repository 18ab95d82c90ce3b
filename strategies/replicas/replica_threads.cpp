// One kept thread per replica, woken by a round number; the caller is replica 0. Threads spin for the next
// round only where each has a core of its own, else they sleep at once: spinning would take the time of those
// that compute.
#include <nyala/strategies/replicas/replica_threads.h>

#include <algorithm>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/fork.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/backend/runtime/cpu_hints.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/backend/runtime/thread_team.h>

namespace nyala {

using namespace nyala::detail;

ReplicaThreads::ReplicaThreads(std::vector<Device> devices)
    : devices_(std::move(devices)),
      share_(std::max(1, available_cores() / static_cast<int>(devices_.size()))),
      spins_(static_cast<int>(devices_.size()) <= available_cores() ? 20000 : 0) {
  start();
}

void ReplicaThreads::start() {
  made_in_ = forks();
  round_ = 0;
  threads_.reserve(devices_.size());
  try {
    for (size_t replica = 1; replica < devices_.size(); ++replica)
      threads_.push_back(start_thread([this, replica] { work(static_cast<int>(replica)); }));
  } catch (...) {
    stop();
    throw;
  }
}

ReplicaThreads::~ReplicaThreads() { stop(); }

void ReplicaThreads::stop() {
  if (made_in_ != forks()) leave_behind(threads_);
  stopping_ = true;
  round_.fetch_add(1);
  round_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  stopping_ = false;
}

void ReplicaThreads::enter(int replica, const std::function<void(int)>& body) const {
  ThreadContext& context = thread_context();
  const ScopedValue<Device> on_device(context.device, devices_[static_cast<size_t>(replica)]);
  const ScopedValue<int> team(context.compute_threads,
                              devices_.size() > 1 ? share_ : context.compute_threads);
  body(replica);
}

void ReplicaThreads::run(const std::function<void(int)>& body) {
  if (devices_.size() == 1) {
    enter(0, body);
    return;
  }
  if (made_in_ != forks()) leave_behind(threads_);
  if (threads_.empty()) start();
  body_ = &body;
  status_ = thread_context().status;
  step_ = thread_context().step;
  running_.store(static_cast<int>(threads_.size()), std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  enter(0, body);
  if (made_in_ != forks())
    throw StateError(
        "fork() was called inside a step on several devices, whose threads are not in the child; "
        "only exec and _exit may follow there");
  for (int spin = 0; spin < spins_ && running_.load(std::memory_order_acquire) > 0; ++spin) spin_pause();
  for (int left = running_.load(std::memory_order_acquire); left > 0;
       left = running_.load(std::memory_order_acquire))
    running_.wait(left, std::memory_order_acquire);
}

void ReplicaThreads::work(int replica) {
  if (spins_ == 0) wake_politely();
  uint32_t seen = 0;
  for (;;) {
    for (int spin = 0; spin < spins_ && round_.load(std::memory_order_acquire) == seen; ++spin) spin_pause();
    round_.wait(seen, std::memory_order_acquire);
    seen = round_.load(std::memory_order_acquire);
    if (stopping_) return;
    const ScopedValue<StatusWords*> status(thread_context().status, status_);
    const ScopedValue<int64_t> step(thread_context().step, step_);
    enter(replica, *body_);
    if (made_in_ != forks()) return;  // nobody waits in this process, which the body made
    if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) running_.notify_all();
  }
}

}  // namespace nyala
