#pragma once

#include <chrono>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <nyala/strategies/communicators/rendezvous.h>

namespace nyala::detail {

/// A socket of the system, closed with the object.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket();
  Socket(Socket&& other) noexcept : descriptor_(other.release()) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }

  int descriptor() const { return descriptor_; }
  bool is_open() const { return descriptor_ >= 0; }
  /// The caller closes it.
  int release() { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_ = -1;
};

struct PeerMeeting {
  int rank = 0, size = 1;
  std::string address =
      {};                   ///< of this rank: it listens there alone, on a free port, until all are connected
  std::string prefix = {};  ///< of the keys at the rendezvous
  std::string who = {};     ///< in front of messages
  std::chrono::steady_clock::time_point deadline = {};
};

/// A TCP connection with each of the other ranks, by rank; that of this one is not open. Each side has shown
/// the other a secret that its rank drew and that stands at the rendezvous: strangers who come to the port,
/// whatever they send or leave out, are turned away and harm nobody, and nobody listens any more when the
/// function returns. (The secret goes over the network as it is: who can change what others send can still
/// take a place.) Throws CommunicationError where the address is none of this machine, TimeoutError naming
/// the ranks that are not connected in time, and CommunicationError soon after `stop` is requested.
std::vector<Socket> connect_peers(const PeerMeeting& meeting, Rendezvous& rendezvous,
                                  const std::stop_token& stop = {});

}  // namespace nyala::detail
