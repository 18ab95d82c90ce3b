#pragma once

#include <string>
#include <vector>

#include <nyala/api/layers/base/layer.h>
#include <nyala/api/model/config/compile_config.h>

namespace nyala {

/// A metric of one output with its place in the sums.
struct CompiledMetric {
  Metric metric;
  size_t output = 0;
  std::string name;
  bool weighted = false;
  int64_t first_sum = 0;
};

/// Everything about one output of a compiled model.
struct CompiledOutput {
  std::string name;
  Loss loss;  // may be empty: no loss for this output
  double weight = 1.0;
};

/// What compile() said, and what the first batches made of it.
struct CompiledTraining {
  CompileConfig config;
  Optimizer optimizer;

  // Fixed by the first batch, which tells the shapes.
  bool resolved = false;
  bool several_losses = false;
  bool steps_itself = false;  // a train_step() of the model's own
  std::vector<CompiledOutput> outputs;
  std::vector<CompiledMetric> metrics;
  std::vector<RegularizedWeight> regularized;
  /// [total loss, loss of each output where there are several, metrics..., two for each added metric...]
  int64_t num_sums = 0;
  std::vector<std::string> added_metrics;  // names that layers gave to Call::add_metric
  int64_t first_added_sum = 0;

  /// Fixed by the first training step (Keras: until the next compile), by leaf key: what is trained.
  bool trained = false;
  std::vector<bool> trained_leaves;
  bool trains(const Variable& variable) const;
  Variables known;         // the model's when the optimizer was built, frozen ones included
  uint64_t looked_at = 0;  // variable_changes() when they last were

  bool warned_nan = false;
  bool compared = false;  // by the processes, for train_on_batch()
};

/// The weights of a built layer or model that have a regularizer.
std::vector<RegularizedWeight> regularized_weights(const LayerNode& node);

}  // namespace nyala
