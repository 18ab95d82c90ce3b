#pragma once

#include <nyala/api/layers/base/layer.h>
#include <nyala/strategies/distributed_dataset.h>

namespace nyala {

/// The next step of a function that ClusterCoordinator schedules; 0 outside.
inline constexpr int64_t kOwnStep = -1;

struct TrainingPassConfig {
  int64_t global_rows = 0;  // rows of the whole batch; 0: `rows`
  int64_t first_row = 0;    // where this replica's rows begin in it
  int64_t step = kOwnStep;  // counts training steps: keys of random numbers
};

/// One pass through layers in training mode in a loop of one's own, Keras' `model(x, training=True)`:
/// `TrainingPass pass(batch, step); Tensor logits = pass(net, part.x[0]); ...; pass.finish();`
/// Under a strategy every replica makes one for its rows. Records on the GradientTape that is open.
class TrainingPass {
 public:
  using Config = TrainingPassConfig;
  explicit TrainingPass(int64_t rows, Config config = {});
  template <size_t N>
  explicit TrainingPass(int64_t, const NoSuchField (&)[N]) = delete;
  /// For the part of `batch` that belongs to the replica on this thread.
  explicit TrainingPass(const DistributedBatch& batch, int64_t step = kOwnStep);

  Tensor operator()(const Layer& layer, const Tensor& x);
  Outputs operator()(const Layer& layer, const Tensors& inputs);
  /// For layers that a program calls by itself.
  Call& call();

  /// This replica's share of what counts once per batch: add_loss of the layers called until now, and the
  /// regularizers of `layer` and all in it. A scalar, zero where there are none.
  Tensor losses(const Layer& layer);

  /// Writes the state that layers assigned (moving statistics), each variable by its aggregation. All
  /// replicas come. Not done by itself: a pass that fails changes nothing.
  void finish();

 private:
  Call call_;
  Tensor step_;
};

}  // namespace nyala
