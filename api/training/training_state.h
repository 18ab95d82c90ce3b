#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <nyala/api/callbacks/base/callback.h>
#include <nyala/api/model/config/compile_config.h>
#include <nyala/api/model/model_node.h>
#include <nyala/backend/parameters/call.h>
#include <nyala/backend/runtime/status_word.h>
#include <nyala/datasets/base/element.h>

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

/// The running sums of an epoch as a checkpoint holds them: one after another those of each replica, as if of
/// `parts` replicas.
struct SavedSums {
  int64_t parts = 0;
  std::vector<double> values = {};
  double rows = 0;
};

/// What a train_step() put into the logs on one replica.
struct LoggedValue {
  std::string name;
  ReduceOp op;
  Tensor value;
  int64_t rows = 0;
};

/// What a compiled model keeps between steps.
struct TrainingState {
  CompileConfig config;
  Optimizer optimizer;

  // Fixed by the first batch, which tells the shapes.
  bool resolved = false;
  bool several_losses = false;
  bool steps_itself = false;  // ModelNode::has_own_train_step
  std::vector<CompiledOutput> outputs;
  std::vector<CompiledMetric> metrics;
  std::vector<RegularizedWeight> regularized;
  /// [total loss, loss of each output where there are several, metrics..., two for each added metric...]
  int64_t num_sums = 0;
  std::vector<std::string> added_metrics;  // names that layers gave to Call::add_metric
  int64_t first_added_sum = 0;

  /// Running sums of this epoch: one float64 tensor per replica, added up when read.
  std::vector<Tensor> sums = {};
  double rows = 0;               // denominators of the losses
  SavedSums restored_sums = {};  // of a checkpoint that was restored before the first batch; no parts: none

  /// One per replica, kept for their memory.
  std::vector<Call> calls;
  std::vector<Tensor> steps;  // device scalars
  std::vector<std::shared_ptr<Tape>> tapes;
  std::vector<std::vector<LoggedValue>> logged;
  std::vector<size_t> counted_metrics;  // how many of the call's added metrics this step has counted
  /// What kernels of training steps reported; fit clears it when it begins.
  StatusWords status;
  std::atomic<bool> loss_is_tracked{false};  // since reset()
  int64_t train_step = 0;  // counts training steps since the model was made: keys of random numbers

  /// Fixed by the first training step (Keras: until the next compile), by leaf key: what is trained.
  bool trained = false;
  std::vector<bool> trained_leaves;
  bool trains(const Variable& variable) const;
  bool warned_nan = false;

  uint64_t shuffle_seed = 0;  // of arrays given to fit; saved with checkpoints
  /// Where fit goes on after a restored backup: set by BackupAndRestore in on_train_begin, taken by fit.
  int resume_epoch = -1;
  int64_t resume_batch = 0;

  Variables known;         // the model's when the optimizer was built, frozen ones included
  uint64_t looked_at = 0;  // variable_changes() when they last were
};

/// The sums of all replicas, added up; metrics as they merge their state.
std::vector<double> summed(const TrainingState& state, const Tensors& of_replicas);
/// Puts one replica's sums to where an epoch begins.
void begin_sums(const TrainingState& state, const Tensor& sums);

/// The sums as they stand, to be saved.
SavedSums saved_sums(const TrainingState& state);
/// Puts `saved` in their place: at once, or with the first batch where the metrics are not known yet. On
/// another number of replicas the first one takes all. Sums of other metrics are left out, with a warning.
void restore_sums(TrainingState& state, SavedSums saved);

/// The weights of a built layer or model that have a regularizer.
std::vector<RegularizedWeight> regularized_weights(const LayerNode& node);

/// Gives the optimizer the model's trainable variables; the model is built.
void build_optimizer(ModelNode& model);
/// Which variables the optimizer of compile() updates, by leaf key: at once and whenever they have moved.
void find_trained(TrainingState& state, const ParameterStore& store);
/// For a model that was trained before: where layers came or went or variables moved since, the optimizer
/// follows. Throws StateError where it was built for another model since, and for a trainable layer that was
/// added since, which it does not know.
void follow_variables(ModelNode& model);

}  // namespace nyala
