#pragma once

#include <memory>
#include <vector>

#include <nyala/api/graph/graph_step.h>
#include <nyala/backend/core/mutex.h>

namespace nyala::detail {

/// Whether `x` is a replica's part of the batch, and `constant` has as many rows as the whole one.
bool is_part_beside_whole(const CallOptions& of, const Tensor& constant, const Tensor& x);
/// Whether axis 0 of a constant input of a layer's call is that of the batch, as Keras' layers of several
/// tensors have it: masks of attention may be without.
bool layer_takes_by_rows(const GraphNode& node, size_t input, const Tensor& constant, const Tensor& x);
/// The same of a constant as the mask of `x`.
bool layer_takes_mask_by_rows(const GraphNode& node, const Tensor& mask, const Tensor& x);

/// Which inputs of one step of a plan, an op with constants, go by rows: found once for each size of the
/// batch and of the part. Thread-safe.
class PartChoices {
 public:
  PartChoices();
  ~PartChoices();
  std::shared_ptr<const std::vector<size_t>> by_rows(const CallOptions& of, const GraphStep& step,
                                                     const Tensors& whole);

 private:
  struct Known;
  Mutex mutex_;
  std::vector<Known> known_;
};

/// The inputs of an op that runs on one replica's part of the batch (`of`), `whole` with its constants as the
/// graph has them: of constants that have the batch's rows, those of the part. Which these are is found by
/// shape: the step's result on the part is to be its result on the whole batch but for the number of rows.
/// Throws ShapeError naming the op where no choice makes it so, and what it throws for the whole batch.
Tensors inputs_of_part(const CallOptions& of, const GraphStep& step, Tensors whole);

}  // namespace nyala::detail
