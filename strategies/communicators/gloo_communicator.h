#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>

#include <nyala/strategies/communicators/communicator.h>
#include <nyala/strategies/communicators/rendezvous.h>

namespace nyala {

/// Whether this build has Gloo.
bool gloo_is_built();

/// A communicator over TCP, by Gloo, which must be there for its whole life and so must `rendezvous`: ranks
/// tell their addresses there, and why they gave up. Returns when all are connected, for which they have
/// options.timeout, or until `formed_by`; where `stop` is requested before, it throws CommunicationError
/// soon. Throws NotFoundError in a build without Gloo, InvalidArgumentError for an address off the loopback
/// without options.trusted_network, CommunicationError where ranks do not come or cannot be reached.
///
/// Adds in the order of ranks: ((r0 + r1) + r2) + ... Of large reductions each rank adds one part; what
/// all_gather and broadcast move goes from its owner to each of the others. A rank that has
/// gone raises no SIGPIPE here.
///
/// A rank that ends without a word is mostly seen at once, PeerLostError; of a few ends in a hundred Gloo
/// says nothing, and then the others get TimeoutError when the call's time is over.
std::shared_ptr<Communicator> gloo_communicator(
    const CommunicatorOptions& options, const std::shared_ptr<Rendezvous>& rendezvous,
    std::stop_token stop = {}, std::optional<std::chrono::steady_clock::time_point> formed_by = {});

}  // namespace nyala
