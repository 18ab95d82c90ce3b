#include <nyala/strategies/control/port_probe.h>

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

namespace nyala::detail {

namespace {

using ProbeClock = std::chrono::steady_clock;

/// The error of a connection that was begun, 0 where it stands.
int probe_outcome(int socket, ProbeClock::time_point deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - ProbeClock::now());
    pollfd wait{socket, POLLOUT, 0};
    const int ready = ::poll(&wait, 1, static_cast<int>(std::max<int64_t>(left.count(), 0)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return ETIMEDOUT;
    int error = 0;
    socklen_t size = sizeof error;
    return ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
  }
}

}  // namespace

// Of a name with several addresses one that is not refused counts.
PortState probe_port(const HostPort& address, std::chrono::milliseconds timeout) {
  const auto deadline = ProbeClock::now() + timeout;
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found) != 0)
    return PortState::silent;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, &::freeaddrinfo);
  PortState state = PortState::silent;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    const int socket = ::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (socket < 0) continue;
    int error = ::connect(socket, one->ai_addr, one->ai_addrlen) == 0 ? 0 : errno;
    if (error == EINPROGRESS) error = probe_outcome(socket, deadline);
    ::close(socket);
    if (error == 0) return PortState::open;
    if (error != ECONNREFUSED) return PortState::silent;
    state = PortState::refused;
  }
  return state;
}

}  // namespace nyala::detail
