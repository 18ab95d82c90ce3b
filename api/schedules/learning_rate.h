#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <nyala/backend/core/held.h>

namespace nyala {

class FieldVisitor;

/// A learning rate that depends on the number of updates done.
class LearningRateScheduleNode {
 public:
  virtual ~LearningRateScheduleNode() = default;
  virtual std::string class_name() const = 0;
  /// Shows the configuration; what the visitor writes is not kept.
  virtual void fields(FieldVisitor&) const {}
  /// The rate for the update after `step` updates.
  virtual double operator()(int64_t step) const = 0;
};

/// A number or a schedule.
class LearningRate {
 public:
  LearningRate(double rate = 0.001) : rate_(rate) {}
  /// Derive from LearningRateScheduleNode to write a schedule.
  LearningRate(std::shared_ptr<const LearningRateScheduleNode> schedule) : schedule_(std::move(schedule)) {}

  /// No number: a rate of 0 is written 0.0.
  template <std::same_as<std::nullptr_t> Null>
  LearningRate(Null) = delete;

  bool is_schedule() const { return schedule_ != nullptr; }
  /// Throws StateError for a number.
  const LearningRateScheduleNode& schedule() const {
    return detail::held(schedule_, "LearningRate", "it is a number; look at is_schedule() first");
  }
  double rate() const { return rate_; }
  double at(int64_t step) const { return schedule_ ? (*schedule_)(step) : rate_; }

 private:
  double rate_ = 0.0;
  std::shared_ptr<const LearningRateScheduleNode> schedule_;
};

}  // namespace nyala
