#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nyala/backend/core/tape.h>
#include <nyala/backend/parameters/variable.h>

namespace nyala {

class Collectives;

/// Names one random draw: the same whatever the number of replicas, because `first_row` counts rows of the
/// global batch.
struct RandomKey {
  uint64_t key = 0;
  int64_t first_row = 0;
};

/// What a Call is made from. Everything has a meaning of "not there".
struct CallOptions {
  bool training = false;
  Tape* tape = nullptr;            // null: nothing is recorded
  Collectives* replica = nullptr;  // null: one replica
  int local_index = 0;             // whose copies of the variables are read: Collectives' local_index()
  int64_t first_row = 0;           // position of this replica's rows in the global batch
  int64_t rows = 0;                // rows of this replica
  int64_t global_rows = 0;         // rows of the whole batch; 0: unknown
  Tensor step = {};                // device scalar (int64): the training step, for random numbers
  /// Out of training: the number of the pass, so that a layer that draws then draws anew in each. 0: the step
  /// alone says.
  uint64_t pass = 0;
  /// Counts passes: the first draw takes the next number as `pass`. Several replicas meet for it and learn
  /// where their rows begin. Null: `pass` and `first_row` say.
  std::atomic<uint64_t>* passes = nullptr;
  /// By leaf key: what the tape watches; null: variables that are trainable now.
  const std::vector<bool>* trained = nullptr;
  /// Models compute layers with kernels and the BatchNormalization behind as one: in training, frozen ones.
  bool fold_batch_normalization = false;
  /// In training: whether BatchNormalization's output is not kept for the gradients behind, but made again;
  /// none: where that costs little.
  std::optional<bool> recompute_batch_normalization = {};
  /// The dtype in which floating variables are read that allow it (VariableSpec::autocast); none: as they
  /// are.
  std::optional<DType> autocast = {};
};

/// Everything that a layer may depend on during one pass through a model, explicitly.
/// One thread at a time; lives for one pass.
class Call {
 public:
  Call() = default;
  explicit Call(const CallOptions& options) : options_(options) {}

  /// Begins another pass, keeping memory.
  void restart(const CallOptions& options);

  bool training() const { return options_.training; }
  void set_training(bool training) { options_.training = training; }
  Tape* tape() const { return options_.tape; }
  void set_tape(Tape* tape) { options_.tape = tape; }
  /// Null where there is only one replica.
  Collectives* replica() const { return options_.replica; }
  const CallOptions& options() const { return options_; }

  /// Keras' autocast scope, which a layer's call opens (CallOptions::autocast).
  std::optional<DType> autocast() const { return options_.autocast; }
  void set_autocast(std::optional<DType> dtype) { options_.autocast = dtype; }

  /// The value of a variable on this replica, in the dtype that autocast() says; tracked by the tape if the
  /// variable is trainable (or trained, where the options say what is). State that was assigned in this pass
  /// has the new value. Throws StateError for a trainable variable that no layer holds.
  Tensor operator[](const Variable& variable) const;

  /// Queues a write of state, applied after the step by the variable's aggregation, a floating value in the
  /// variable's floating dtype. The last write of a step wins.
  void assign(const Variable& variable, const Tensor& value);
  const std::vector<std::pair<Variable, Tensor>>& assignments() const { return assignments_; }

  /// Adds a scalar to the loss of this step (Keras' add_loss), one of 16 bits as float32; each replica's
  /// counts by its share of the rows.
  void add_loss(const Tensor& loss);
  const std::vector<Tensor>& losses() const { return losses_; }

  /// Adds a number to the logs (Keras' add_metric): the mean over all elements of the epoch's values, or of
  /// one number per batch where `value` is a scalar (each replica's counts by its share of the rows).
  void add_metric(const std::string& name, const Tensor& value) {
    metrics_.emplace_back(name, value.detached());
  }
  const std::vector<std::pair<std::string, Tensor>>& metrics() const { return metrics_; }

  /// Over the rows of the whole batch, in a layer that looks at other rows than its own: `c.global_mean(x,
  /// 0)` is what `x.mean(0)` is on one device, on any number of replicas and with any split of the rows. Axes
  /// as those of ops::sum; without the axis of the rows, axis 0, it is the replica's own. Differentiable:
  /// gradients flow to the rows of all replicas. Every replica calls it, also one without rows.
  Tensor global_sum(const Tensor& x, const Axes& axes = {}, bool keepdims = false) const;
  Tensor global_mean(const Tensor& x, const Axes& axes = {}, bool keepdims = false) const;

  /// A key for one draw of a layer that has `layer_key`: differs for every draw of the pass.
  RandomKey random_key(uint64_t layer_key);

  /// What the first draw does where CallOptions::passes asks for it; for who copies options().
  void begin_pass();

  /// Number of draws so far. Set where parts of a pass run at the same time, so that each draws the numbers
  /// that it would draw in turn.
  uint64_t draws() const { return draws_; }
  void set_draws(uint64_t draws) { draws_ = draws; }

  /// The training step as a device scalar of int64; zeros outside training.
  const Tensor& step() const { return options_.step; }

 private:
  bool is_trained(const VariableNode& node) const;
  bool casts(const VariableNode& node) const;

  CallOptions options_;
  std::vector<std::pair<Variable, Tensor>> assignments_;
  std::vector<Tensor> losses_;
  std::vector<std::pair<std::string, Tensor>> metrics_;
  uint64_t draws_ = 0;
};

}  // namespace nyala
