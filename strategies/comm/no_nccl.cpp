// Stands for NCCL in builds that do not have it.
#include <nyala/strategies/comm/nccl.h>

#include <nyala/backend/core/error.h>
#include <nyala/strategies/comm/nccl_communicator.h>

namespace nyala {

bool nccl_is_built() { return false; }

void nccl_all_reduce_sum(std::span<const Tensor>) {
  throw NotFoundError(
      "NcclAllReduce: this build has no NCCL; use HierarchicalCopyAllReduce or ReductionToOneDevice among "
      "accelerators, DirectAllReduce or RingAllReduce among CPU devices");
}

std::shared_ptr<Communicator> nccl_communicator(const CommunicatorOptions&, Rendezvous&) {
  throw NotFoundError(
      "nccl_communicator: this build has no NCCL, which GPUs of several processes talk by; take the values "
      "to host "
      "memory and use shared_memory_communicator on one host, gloo_communicator between hosts");
}

}  // namespace nyala
