#include <nyala/strategies/cluster/free_ports.h>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>

#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/system_random.h>

namespace nyala::detail {

namespace {

/// Closed with their list: until then no other one gets their ports.
class BoundSockets {
 public:
  BoundSockets() = default;
  ~BoundSockets() {
    for (const int socket : sockets_) ::close(socket);
  }
  BoundSockets(const BoundSockets&) = delete;
  BoundSockets& operator=(const BoundSockets&) = delete;

  /// The port; none where that one is taken. 0: any. Throws IoError for everything else.
  std::optional<int> bind(int port) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket >= 0) sockets_.push_back(socket);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (socket >= 0 && ::bind(socket, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
        ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0)
      return ntohs(address.sin_port);
    if (socket >= 0 && port != 0 && errno == EADDRINUSE) return std::nullopt;
    throw IoError("127.0.0.1 has no free port: " + std::generic_category().message(errno));
  }

 private:
  std::vector<int> sockets_;
};

constexpr int kLowest = 10000;  // below are ports of known services

/// The lowest port of outgoing connections, 0 where the system does not say.
int lowest_outgoing_port() {
  std::ifstream range("/proc/sys/net/ipv4/ip_local_port_range");
  int lowest = 0;
  range >> lowest;
  return lowest;
}

}  // namespace

std::vector<int> free_ports(int count) {
  BoundSockets sockets;
  std::vector<int> ports;
  for (int i = 0; i < count; ++i) ports.push_back(*sockets.bind(0));
  return ports;
}

std::vector<int> lasting_ports(int count) {
  const int range = lowest_outgoing_port() - kLowest;
  if (range < 4 * count) return free_ports(count);
  BoundSockets sockets;
  std::vector<int> ports;
  for (int tries = 0; tries < 20 * count && std::ssize(ports) < count; ++tries) {
    const int port = kLowest + static_cast<int>(system_random() % static_cast<uint64_t>(range));
    if (const std::optional<int> bound = sockets.bind(port)) ports.push_back(*bound);
  }
  return std::ssize(ports) == count ? ports : free_ports(count);
}

}  // namespace nyala::detail
