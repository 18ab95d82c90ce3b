#pragma once

#include <chrono>

#include <nyala/api/estimator/estimator.h>

namespace nyala {

/// What train_and_evaluate trains on, and up to which step (0: to the end of the data).
struct TrainSpec {
  InputFn input_fn = {};
  int64_t max_steps = 0;
  std::vector<CallbackArgument> callbacks = {};
};

/// What it evaluates with.
struct EvalSpec {
  InputFn input_fn = {};
  /// Batches of an evaluation; 0: all. TensorFlow's default is 100.
  int64_t steps = 100;
  /// Not again before so much time has gone by since the last evaluation began.
  std::chrono::seconds throttle = std::chrono::seconds(600);
};

/// Trains, evaluates checkpoints while that goes on, in this process (each that is written, but for those
/// that come within `throttle`), and the last one at the end. Returns the metrics of that one. Throws what
/// Estimator::train and evaluate throw.
Logs train_and_evaluate(Estimator& estimator, const TrainSpec& train_spec, const EvalSpec& eval_spec);

}  // namespace nyala
