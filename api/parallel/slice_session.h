#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nyala/api/parallel/slice_machine.h>
#include <nyala/backend/ops/base/grad_context.h>
#include <nyala/strategies/rows/row_split.h>

namespace nyala {

/// One run of DeviceSlices. Where somebody records, the tape keeps it until the gradients have been asked
/// for.
class SliceSession {
 public:
  /// Throws ShapeError for inputs that cannot be cut together.
  SliceSession(std::shared_ptr<SliceMachine> machine, const Tensors& inputs);

  /// Computes every slice, with a tape each if `records`.
  void forward(const Call& outer, const DeviceSlices::Work& work, bool records);

  /// The joined outputs, with their masks where every slice has one. Untracked.
  Tensors whole_outputs() const;
  /// The losses of add_loss: each slice's counts by its share. Untracked.
  Tensors whole_losses(Device home) const;
  /// Hands on what the slices want to write and to log, joined as a strategy joins what replicas write.
  void pass_state(Call& outer) const;

  /// Records the run on `tape` as one op whose results the outputs and losses become.
  static void record(const std::shared_ptr<SliceSession>& session, Tape& tape, Tensors& outputs,
                     Tensors& losses);
  /// The gradient of that op.
  void backward(GradContext& c);

 private:
  struct Part {
    RowRange range;
    std::shared_ptr<Tape> tape;
    Tensors inputs, outputs, losses;
    std::vector<std::pair<Variable, Tensor>> assignments;
    std::vector<std::pair<std::string, Tensor>> metrics;
    uint64_t draws = 0;
  };
  /// A result of a slice, or the sum of several, and its gradient.
  struct Target {
    Tensor value, seed;
  };

  double share(const Part& part) const;
  Tensors cut_inputs(const Part& part, Device here) const;
  CallOptions options_of(int i, const Call& outer) const;
  void forward_part(int i, const Call& outer, const DeviceSlices::Work& work);
  Tensor whole_metric(size_t k) const;
  Tensor whole_write(size_t k) const;

  std::vector<TapeValue> weights() const;
  uint32_t source_of(const Part& part, size_t k) const;
  Tensor seed_of(const GradContext& c, const Part& part, size_t result) const;
  Target target_of(const GradContext& c, const Part& part) const;
  Tensors backward_part(const GradContext& c, const Part& part) const;
  Tensor input_gradient(size_t k, const std::vector<Tensors>& gradients) const;

  std::shared_ptr<SliceMachine> machine_;
  std::vector<Part> parts_;
  Tensors inputs_;
  std::vector<TapeValue> weights_;  // that slices have read, each once
  int64_t total_ = 0;
};

}  // namespace nyala
