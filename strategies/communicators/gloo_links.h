#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <nyala/strategies/communicators/links.h>
#include <nyala/strategies/communicators/peer_sockets.h>

namespace nyala::detail {

/// Gloo's messages over connections that stand already, one for each of the other ranks. Whatever comes over
/// one that Gloo cannot make sense of ends that connection, not the process. Its thread handles no signals of
/// the program; writing to a rank that has gone raises no SIGPIPE. Throws any std::exception where a
/// connection has ended meanwhile.
std::unique_ptr<Links> gloo_links(int rank, std::vector<Socket> sockets, std::chrono::milliseconds timeout);

}  // namespace nyala::detail
