#pragma once

#include <atomic>
#include <string>
#include <vector>

#include <nyala/backend/core/tensor.h>
#include <nyala/strategies/cross_device/reduce_op.h>

namespace nyala {

struct CompiledTraining;
class StrategyNode;

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

/// What the batches since Stepper::reset() came to.
struct EpochSums {
  std::vector<Tensor> of_replicas = {};  // one float64 tensor for each of this process, added up when read
  std::vector<Tensor> of_all = {};  // those of all processes after the last step; none: there are no others
  double rows = 0;                  // denominators of the losses
  std::atomic<bool> loss_is_tracked{false};
  std::vector<std::vector<LoggedValue>> logged;              // of the last step, by replica
  std::vector<std::vector<LoggedValue>> logged_of_all = {};  // as of_all
  SavedSums restored = {};  // of a checkpoint that was restored before the first batch; no parts: none
};

/// What is read: the sums of all replicas, wherever they are.
const Tensors& sums_to_read(const EpochSums& sums);

/// The sums of all replicas, added up; metrics as they merge their state.
std::vector<double> summed(const CompiledTraining& compiled, const Tensors& of_replicas);
/// Puts one replica's sums to where an epoch begins.
void begin_sums(const CompiledTraining& compiled, const Tensor& sums);

/// The sums as they stand, to be saved.
SavedSums saved_sums(const EpochSums& sums);
/// Puts `saved` in their place: at once, or with the first batch where the metrics are not known yet. On
/// another number of replicas the first one of `strategy` takes all. Sums of other metrics are left out, with
/// a warning.
void restore_sums(const CompiledTraining& compiled, EpochSums& sums, SavedSums saved,
                  const StrategyNode& strategy);

}  // namespace nyala
