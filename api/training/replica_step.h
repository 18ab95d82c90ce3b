#pragma once

#include <string>
#include <vector>

#include <nyala/api/metrics/base/metric.h>
#include <nyala/api/model/model_node.h>
#include <nyala/api/optimizers/base/optimizer.h>
#include <nyala/strategies/cross_device/reduce_op.h>
#include <nyala/strategies/replica_context.h>

namespace nyala {

struct CompiledOutput;
struct ModelTraining;

/// One replica's part of one step of fit, evaluate or predict: what ModelNode's train_step, test_step,
/// predict_step, compute_loss and compute_metrics are given. Used on the replica's thread while they run.
class ReplicaStep {
 public:
  /// forward() runs `forwarded` in place of the model, where there is one.
  ReplicaStep(ModelNode& model, Replica& replica, Call& call, ModelNode* forwarded = nullptr)
      : model_(model),
        forwarded_(forwarded ? *forwarded : model),
        replica_(replica),
        call_(call) {}

  /// For calling layers: `layer(step.call(), x)`. Records on the GradientTape that is open here.
  Call& call();
  bool training() const { return call_.training(); }
  Replica& replica() const { return replica_; }
  /// Rows of this replica's batch, perhaps none, and of the whole one.
  int64_t rows() const { return call_.options().rows; }
  int64_t global_rows() const { return call_.options().global_rows; }
  /// rows() / global_rows().
  double share() const;

  /// The model's outputs.
  Tensor forward(const Tensor& x);
  Tensors forward(const Tensors& x);

  /// The model's compute_loss(): this replica's part of the batch's loss. Losses are sums over the rows here,
  /// divided by the count of the whole batch, so that replicas' losses and gradients are added up.
  Tensor compute_loss(const Batch& batch, const Tensors& predictions);
  /// What compile() said, with regularizers and add_loss by this replica's share.
  Tensor compiled_loss(const Batch& batch, const Tensors& predictions);
  /// The model's compute_metrics(), and what it does by itself: updates the metrics of compile().
  void compute_metrics(const Batch& batch, const Tensors& predictions);
  void update_compiled_metrics(const Batch& batch, const Tensors& predictions);
  /// Counts a loss of compute_loss() in the epoch's "loss": the mean over rows. Once per step.
  void track_loss(const Tensor& loss);
  /// The same with a tracker of the model's own, a Mean: replicas' parts of a loss are added up, not
  /// averaged.
  void track_loss(Metric& mean, const Tensor& loss);

  /// Puts a scalar into the logs, as it is in the last step. ReduceOp::sum: replicas hold parts of it, as
  /// those of compute_loss(); ReduceOp::mean: each holds a mean over its own rows, and counts by them.
  void log(const std::string& name, const Tensor& value, ReduceOp op);

  /// What compile()'s optimizer trains.
  Variables trainable_variables() const;
  Optimizer optimizer() const;
  /// optimizer().apply_gradients for trainable_variables(): all replicas come.
  void apply_gradients(const Tensors& gradients);
  /// The same for some of them: the others keep value and state.
  void apply_gradients(const Tensors& gradients, const Variables& variables);

  /// float32 numbers of `shape`, whose first size is rows(). They belong to the model (set_random_seed), the
  /// step, the number of the draw in it and the rows of the whole batch: any number of replicas draws the
  /// same. Throws ShapeError for another first size.
  Tensor random_normal(const Shape& shape, double mean = 0.0, double stddev = 1.0);
  /// At least `low` and below `high`.
  Tensor random_uniform(const Shape& shape, double low = 0.0, double high = 1.0);

 private:
  ModelTraining& state() const;
  RandomKey next_draw(const char* what, const Shape& shape);
  /// What a loss is computed from: this replica's rows or, the same on all replicas, those of the batch.
  struct LossRows {
    Tensor target, prediction, weights;
    bool all = false;
  };
  Tensor loss_of(const CompiledOutput& output, size_t index, const Batch& batch, const Tensors& predictions);
  Tensor loss_of_rows(const Loss& loss, const LossRows& rows);
  Tensor loss_of_mean(const Loss& loss, const Tensor& mean, const Tensor& prediction, const Tensor& weights);
  Tensor loss_of_whole_batch(const Loss& loss, const Tensor& target, const Tensor& prediction,
                             const Tensor& weights);
  Tensor all_reduced(const Tensor& value) const;
  void add_to_sums(int64_t first, const Tensor& values);

  ModelNode& model_;
  ModelNode& forwarded_;
  Replica& replica_;
  Call& call_;
};

}  // namespace nyala
