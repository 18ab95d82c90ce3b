#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nyala/api/losses/loss.h>
#include <nyala/api/metrics/base/metric.h>
#include <nyala/api/model/config/per_output.h>
#include <nyala/api/optimizers/base/optimizer.h>

namespace nyala {

/// What compile takes, in Keras' order.
struct CompileConfig {
  Optimizer optimizer = "rmsprop";
  PerOutput<Loss> loss = {};
  PerOutput<double> loss_weights = {};
  /// A flat list belongs to the only output; with several outputs, entry i to output i. By name: lists.
  PerOutput<Metric> metrics = {};
  PerOutput<Metric> weighted_metrics = {};
  /// Metrics by output name, several each.
  std::map<std::string, std::vector<Metric>> metrics_by_output = {};
  std::map<std::string, std::vector<Metric>> weighted_metrics_by_output = {};
  bool run_eagerly = false;
  int64_t steps_per_execution = 1;
  /// Taken for programs that come from Keras and ignored, which the log says once: there is no compiler here.
  bool jit_compile = false;
  /// Wraps the optimizer in a LossScaleOptimizer, unless it is one, where the model's dtype policy is
  /// mixed_float16.
  bool auto_scale_loss = true;
  /// Not in Keras: keep no outputs of BatchNormalization for the backward pass, but compute them again there
  /// from the inputs, which are kept anyway. The same numbers for less memory and some more time. None: where
  /// that is little time beside the layer in front (ops::BatchNormalizationOptions::recompute).
  std::optional<bool> recompute_batch_normalization = {};
};

}  // namespace nyala
