// Stands for NCCL among processes in builds that do not have it.
#include <nyala/strategies/communicators/nccl_communicator.h>

#include <nyala/backend/core/error.h>

namespace nyala {

std::shared_ptr<Communicator> nccl_communicator(const CommunicatorOptions&, Rendezvous&) {
  throw NotFoundError(
      "nccl_communicator: this build has no NCCL, which GPUs of several processes talk by; take the values "
      "to host memory and use shared_memory_communicator on one host, gloo_communicator between hosts");
}

}  // namespace nyala
