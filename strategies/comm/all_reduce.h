#pragma once

#include <span>

#include <nyala/backend/core/tensor.h>

namespace nyala {

/// Sums flat tensors of equal length in order and leaves the sum in the first one; with `to_all` in every
/// one. Deterministic: the order of the sum is the order of `buffers`, whoever computes it. Throws ShapeError
/// for tensors that differ in length or dtype.
void all_reduce_sum(std::span<const Tensor> buffers, bool to_all);

}  // namespace nyala
