#include <nyala/tools/launch/free_ports.h>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include <nyala/backend/core/error.h>

namespace nyala::tools {

std::vector<int> free_ports(int count) {
  std::vector<int> sockets, ports;
  for (int i = 0; i < count; ++i) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockets.push_back(socket);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (socket < 0 || ::bind(socket, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0)
      throw IoError("launch: no free port: " + std::generic_category().message(errno));
    ports.push_back(ntohs(address.sin_port));
  }
  for (const int socket : sockets) ::close(socket);
  return ports;
}

}  // namespace nyala::tools
