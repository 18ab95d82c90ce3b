#include <nyala/strategies/control/own_address.h>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <memory>

#include <nyala/strategies/communicators/host_name.h>

namespace nyala::detail {

namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Addresses addresses_of(const std::string& host, int port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_DGRAM;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) found = nullptr;
  return {found, &::freeaddrinfo};
}

std::string text_of(const sockaddr* address, socklen_t size) {
  char text[NI_MAXHOST] = {};
  return ::getnameinfo(address, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0 ? text : "";
}

}  // namespace

// A UDP socket that is connected knows its way, and nothing is sent for that.
std::string address_towards(const HostPort& other) {
  const Addresses found = addresses_of(other.host, other.port);
  for (const addrinfo* one = found.get(); one != nullptr; one = one->ai_next) {
    const int socket = ::socket(one->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket < 0) continue;
    sockaddr_storage own{};
    auto* const address = reinterpret_cast<sockaddr*>(&own);
    socklen_t size = sizeof own;
    const bool known =
        ::connect(socket, one->ai_addr, one->ai_addrlen) == 0 && ::getsockname(socket, address, &size) == 0;
    ::close(socket);
    if (known) return text_of(address, size);
  }
  return "";
}

bool resolves_to_loopback(const std::string& host) {
  const Addresses found = addresses_of(host, 1);
  for (const addrinfo* one = found.get(); one != nullptr; one = one->ai_next)
    if (!is_loopback_host(text_of(one->ai_addr, one->ai_addrlen))) return false;
  return found != nullptr;
}

std::string place_of_process() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  char numbers[64] = {};  // which numbers of processes it sees: containers of one host differ
  if (::readlink("/proc/self/ns/pid", numbers, sizeof numbers - 1) < 0) numbers[0] = 0;
  return host_name().substr(0, 64) + " " + boot.substr(0, 64) + " " + numbers + " " +
         std::to_string(::getuid());
}

}  // namespace nyala::detail
