#pragma once

#include <span>

#include <nyala/backend/core/tensor.h>

namespace nyala {

/// Whether this build has NCCL.
bool nccl_is_built();

/// Sums flat tensors on as many GPUs in place by one NCCL all-reduce. Throws NotFoundError saying what to use
/// instead in a build without NCCL.
void nccl_all_reduce_sum(std::span<const Tensor> buffers);

}  // namespace nyala
