#pragma once

#include <memory>

#include <nyala/strategies/communicators/communicator.h>
#include <nyala/strategies/communicators/rendezvous.h>

namespace nyala {

/// A communicator among GPUs, by NCCL: the same calls, on memory of this rank's GPU. Throws NotFoundError
/// saying what to use instead in a build without NCCL (nccl.h).
std::shared_ptr<Communicator> nccl_communicator(const CommunicatorOptions& options, Rendezvous& rendezvous);

}  // namespace nyala
