#pragma once

#include <chrono>

#include <nyala/backend/core/mutex.h>
#include <nyala/backend/runtime/crowd.h>

namespace nyala {

/// Decides whether idle OpenMP threads block at once, by what teams tell of the share of their time that they
/// waited for a core, smoothed over some 40 looks: they do from 0.15 on, until it was below 0.05 for a while
/// (250 ms; up to 8 s where blocking ended shortly before). Thread-safe.
class IdleThreads {
 public:
  using Clock = std::chrono::steady_clock;

  /// That of this process.
  static IdleThreads& instance();

  bool block() const { return crowd_.is_there(); }
  /// Idle threads block until teams of `team` threads were heard for a while.
  void begin(int team, Clock::time_point now);
  /// A team of `team` threads saw `share_waited` until `now`, since it looked before.
  void hear(double share_waited, int team, Clock::time_point now);

 private:
  static constexpr double kMuch = 0.15, kLittle = 0.05, kWeightOfALook = 1.0 / 40;
  static constexpr std::chrono::milliseconds kShortest{250}, kLongest{8000};

  Mutex mutex_{Mutex::AtFork::is_waited};
  Crowd crowd_;
  double share_waited_ = 0;
  std::chrono::milliseconds patience_ = kShortest;
  Clock::time_point busy_{}, left_{};
};

}  // namespace nyala
