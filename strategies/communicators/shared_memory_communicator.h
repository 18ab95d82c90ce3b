#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>

#include <nyala/strategies/communicators/communicator.h>
#include <nyala/strategies/communicators/rendezvous.h>

namespace nyala {

/// A communicator among processes of one user on one host, by memory that they share. Rank 0 makes it and
/// names it at `rendezvous`; the others look there for options.timeout, or until `formed_by`. Returns when
/// all ranks have come; where `stop` is requested before, it throws CommunicationError soon. Throws
/// CommunicationError where they do not, or where what is found is no such memory of this user and
/// generation.
///
/// Adds in the order of ranks: ((r0 + r1) + r2) + ... A process that is killed is noticed within 0.1 s by the
/// others' calls, those that wait and later ones.
std::shared_ptr<Communicator> shared_memory_communicator(
    const CommunicatorOptions& options, Rendezvous& rendezvous, std::stop_token stop = {},
    std::optional<std::chrono::steady_clock::time_point> formed_by = {});

}  // namespace nyala
