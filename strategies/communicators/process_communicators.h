#pragma once

#include <chrono>
#include <memory>

#include <nyala/strategies/communicators/communicator.h>
#include <nyala/strategies/communicators/rendezvous.h>

namespace nyala {

/// What the processes of a strategy speak by. Two, of the same ranks: gradients go while backward goes on, so
/// that they and what a program does come in different orders.
struct ProcessCommunicators {
  std::shared_ptr<Communicator> steps, gradients;
};

/// Those of processes on one host that meet at `rendezvous`, by memory that they share: options.rank of
/// options.size. Throws what shared_memory_communicator() throws.
ProcessCommunicators processes_on_one_host(CommunicatorOptions options, Rendezvous& rendezvous);

}  // namespace nyala
