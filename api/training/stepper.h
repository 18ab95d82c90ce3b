#pragma once

#include <vector>

#include <nyala/api/training/feed.h>
#include <nyala/api/callbacks/base/callback.h>
#include <nyala/api/model/model_node.h>
#include <nyala/backend/parameters/call.h>
#include <nyala/backend/runtime/status_word.h>

namespace nyala {

class DataArgument;
class FeatureCache;

/// Splits, runs and merges single steps of one model under its strategy. Nothing is read by the host.
class Stepper {
 public:
  /// Throws StateError for a model that is not compiled, unless only predict() is used.
  explicit Stepper(ModelNode& model);

  /// The arrays whose rows come in some order: errors of labels and indices name their place in them.
  void set_given(const DataArgument& data);

  /// Forward, backward and update. The running sums take loss and metrics. An id or a label out of range that
  /// kernels on CPUs found is thrown before the update. Throws InvalidArgumentError where the loss has no
  /// gradient for any of the variables.
  void train(const Batch& batch, const BatchPlace& place = {});
  /// Forward, with loss and metrics.
  void test(const Batch& batch, const BatchPlace& place = {});
  /// Forward: the outputs of all rows in order, on the host, one tensor per output. Throws NumericError like
  /// check_status().
  Tensors predict(const Batch& batch, const BatchPlace& place = {}) { return forward(batch, false, place); }
  /// The same as training computes it; nothing is recorded and state is written.
  Tensors forward(const Batch& batch, bool training, const BatchPlace& place = {});
  /// From here on train() and test() run the rest of the model on what `cache` keeps of its frozen part; null
  /// ends that. The cache outlives this.
  void use(FeatureCache* cache) { cache_ = cache; }

  /// Whether layers with kernels and BatchNormalization are one, in train() frozen ones; true at first.
  void set_fold_batch_normalization(bool fold) { folds_ = fold; }

  /// What train() learns from the shapes of its first batch: weights, losses and metrics. Computes nothing.
  void learn_shapes(const Batch& batch);
  /// The weights alone.
  void build_for(const Batch& batch);

  /// Sets the running sums to zero.
  void reset();
  /// Loss and metrics of the batches since reset(), in alphabetical order as Keras logs them. Waits for the
  /// devices.
  Logs logs() const;
  /// The same for the batches until now, whatever comes later: copied on the devices, read when first asked
  /// for.
  Logs logs_of_now() const;
  /// Throws NumericError for the first value that a kernel of this stepper's steps found out of range
  /// (labels, indices).
  void check_status() const;
  /// Forgets what training steps before have reported.
  void clear_status() const;

 private:
  enum class Mode { train, own_train, test };
  Batch adapted(const Batch& batch) const;
  void build(const Batch& batch);
  void prepare(const Batch& batch, bool training);
  void resolve(const Batch& batch);
  void run(const Batch& batch, Mode mode, const BatchPlace& place);
  void run_part(Replica& replica, const Batch& batch, Mode mode);
  Tensors outputs_of(const Batch& batch, bool training, const BatchPlace& place);
  void train_part(ReplicaStep& step, const Batch& part);
  void check_reports(const Replica& replica) const;
  [[noreturn]] void throw_nothing_trains() const;
  void leave_unconnected() const;
  void bring_sums_together();

  std::shared_ptr<const Element> given_;
  ModelNode& model_;
  StrategyNode& strategy_;
  FeatureCache* cache_ = nullptr;
  std::shared_ptr<StatusWords> status_ = std::make_shared<StatusWords>();  // of test()
  bool folds_ = true;
  bool trains_ = false;  // train() was called
  uint64_t pass_ = 0;  // Call's
  BatchPlace place_;   // of the batch that run() is given
};

}  // namespace nyala
