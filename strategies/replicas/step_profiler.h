#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <nyala/backend/core/mutex.h>

namespace nyala {

/// Where the time of training steps went, in seconds per step. compute + reduce + wait is the wall time of
/// the replicas' part of a step; each of the three is a mean over the replicas.
struct StepTimes {
  int64_t steps = 0;
  double compute = 0;  // forward and backward
  double reduce = 0;   // bringing gradients together
  double wait = 0;     // idle: in collectives of layers, and for the slowest replica at the end
  double update = 0;   // applying the update rule
  double input = 0;    // between two steps: the next batch, logs, callbacks

  /// Whether bringing replicas together costs more than they compute.
  bool communication_bound() const { return steps > 0 && reduce + wait > compute; }
  /// "compute 3.1 ms, reduce 0.2 ms, ..."
  std::string to_string() const;
};

/// Measures steps while it is enabled; else a scope costs one relaxed load. Steps that only gather gradients
/// count as steps without reduction. A run() in which several replicas call apply_gradients() counts as one,
/// the update being part of its compute and wait; runs without an update do not count. Thread-safe.
class StepProfiler {
 public:
  enum class Phase { reduce, wait };

  bool enabled() const { return enabled_.load(std::memory_order_relaxed); }
  /// Enabling forgets what was measured before. Takes effect with the next step.
  void set_enabled(bool enabled);
  /// Called on the strategy's thread after every measured step with that step's times. Set while no step
  /// runs.
  std::function<void(const StepTimes&)> on_step;
  /// The mean over the measured steps.
  StepTimes times() const;
  /// What describe() adds: times and, with several replicas, the warning when they cannot pay. "" before any
  /// step was measured.
  std::string summary() const;

  // What a strategy calls around a step.
  void begin_run(int replicas);
  void end_replica(int replica);
  void end_run();
  void begin_update();
  /// The measured run has had its update: it is counted.
  void end_update();
  /// It will have none.
  void drop_run() { measured_run_ = false; }

  /// Charges its lifetime to a phase of one replica, which runs on the calling thread.
  class Scope {
   public:
    Scope(StepProfiler* profiler, int replica, Phase phase)
        : profiler_(profiler && profiler->running_.load(std::memory_order_relaxed) ? profiler : nullptr),
          replica_(replica),
          phase_(phase) {
      if (profiler_) begin_ = std::chrono::steady_clock::now();
    }
    ~Scope() {
      if (profiler_) profiler_->charge(replica_, phase_, begin_);
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    StepProfiler* profiler_;
    int replica_;
    Phase phase_;
    std::chrono::steady_clock::time_point begin_{};
  };

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Lane {
    double total = 0, reduce = 0, wait = 0;
  };
  void charge(int replica, Phase phase, Time begin);
  void warn_once(const StepTimes& mean);

  std::atomic<bool> enabled_{false};
  std::atomic<bool> running_{false};  // between begin_run() and end_run() of a measured step
  mutable Mutex mutex_;
  std::vector<Lane> lanes_;
  Time run_begin_{}, update_begin_{}, last_end_{};
  StepTimes step_, sums_;
  bool measured_run_ = false, warned_ = false;
  int replicas_ = 1;
};

}  // namespace nyala
