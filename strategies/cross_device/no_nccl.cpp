// Stands for NCCL in builds that do not have it.
#include <nyala/strategies/cross_device/nccl.h>

#include <nyala/backend/core/error.h>

namespace nyala {

bool nccl_is_built() { return false; }

void nccl_all_reduce_sum(std::span<const Tensor>) {
  throw NotFoundError(
      "NcclAllReduce: this build has no NCCL; use HierarchicalCopyAllReduce or ReductionToOneDevice among "
      "accelerators, DirectAllReduce or RingAllReduce among CPU devices");
}

}  // namespace nyala
