#include <nyala/strategies/communicators/gloo_communicator.h>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include <nyala/backend/core/error.h>
#include <nyala/strategies/communicators/gloo_links.h>
#include <nyala/strategies/communicators/host_name.h>
#include <nyala/strategies/communicators/link_communicator.h>
#include <nyala/strategies/communicators/peer_sockets.h>

namespace nyala {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

bool is_loopback(const sockaddr* address) {
  if (address->sa_family == AF_INET)
    return ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr) >> 24 == 127;
  return address->sa_family == AF_INET6 &&
         IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
}

/// Whether every address that `name` stands for is this host's own.
bool names_loopback(const std::string& name) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (const int error = ::getaddrinfo(name.c_str(), nullptr, &hints, &found))
    throw CommunicationError("CommunicatorOptions: .address " + detail::in_quotes(name) +
                             " names no address: " + ::gai_strerror(error));
  bool all = true;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next)
    all = all && is_loopback(one->ai_addr);
  ::freeaddrinfo(found);
  return all;
}

class Connecting {
 public:
  Connecting(const CommunicatorOptions& options, Rendezvous& rendezvous, std::stop_token stop,
             Clock::time_point deadline)
      : options_(options),
        rendezvous_(rendezvous),
        stop_(std::move(stop)),
        prefix_(detail::group_prefix(options) + "gloo/"),
        address_(options.address.empty() ? "127.0.0.1" : options.address),
        loopback_(names_loopback(address_)),
        deadline_(deadline) {}

  std::unique_ptr<detail::Links> connect() {
    check_trust();
    meet();
    std::vector<detail::Socket> sockets = detail::connect_peers({.rank = options_.rank,
                                                                 .size = options_.size,
                                                                 .address = address_,
                                                                 .prefix = prefix_,
                                                                 .who = who() + "not all ranks can connect: ",
                                                                 .deadline = deadline_},
                                                                rendezvous_, stop_);
    try {
      return detail::gloo_links(options_.rank, std::move(sockets), left());
    } catch (const std::exception& error) {
      throw CommunicationError(who() + "a connection ended when all had just connected: " + error.what());
    }
  }

 private:
  std::string who() const {
    return "gloo_communicator '" + options_.name + "', rank " + std::to_string(options_.rank) + " of " +
           std::to_string(options_.size) + " on " + detail::host_name() + ", generation " +
           std::to_string(options_.generation) + ": ";
  }
  milliseconds left() const {
    return std::max(std::chrono::ceil<milliseconds>(deadline_ - Clock::now()), milliseconds(1));
  }

  void check_trust() const {
    if (loopback_ || options_.trusted_network) return;
    throw InvalidArgumentError(
        who() + "the address " + address_ +
        " is open to other hosts, and Gloo neither encrypts nor asks who connects: whoever reaches its ports "
        "can "
        "read and change the training. In a network where nobody else is (a VPN, a private network) say "
        ".trusted_network = true");
  }

  /// All have come, and none is where the others cannot reach it.
  void meet() {
    const std::string own = (loopback_ ? "loopback " : "network ") + detail::host_name();
    rendezvous_.set(prefix_ + "host-" + std::to_string(options_.rank), own);
    for (int peer = 0; peer < options_.size; ++peer) {
      if (peer == options_.rank) continue;
      const std::string name = "rank " + std::to_string(peer);
      std::string theirs;
      try {
        theirs = rendezvous_.wait(prefix_ + "host-" + std::to_string(peer), left());
      } catch (const TimeoutError& error) {
        throw TimeoutError(who() + name + " did not come in time: " + error.what());
      }
      const bool one_host = theirs.ends_with(" " + detail::host_name());
      const bool both_open = !loopback_ && theirs.starts_with("network ");
      if (!one_host && !both_open)
        throw CommunicationError(
            who() + name + " (" + theirs + ") and this rank (" + own +
            ") are on different hosts, where the loopback reaches nobody: give both an "
            ".address that the other can reach (a host's own name may stand for the loopback)");
    }
  }

  const CommunicatorOptions& options_;
  Rendezvous& rendezvous_;
  std::stop_token stop_;
  std::string prefix_, address_;
  bool loopback_;
  Clock::time_point deadline_;
};

}  // namespace

bool gloo_is_built() { return true; }

std::shared_ptr<Communicator> gloo_communicator(
    const CommunicatorOptions& options, const std::shared_ptr<Rendezvous>& rendezvous, std::stop_token stop,
    std::optional<std::chrono::steady_clock::time_point> formed_by) {
  detail::check_communicator_options(options);
  const Clock::time_point deadline = formed_by.value_or(Clock::now() + options.timeout);
  std::unique_ptr<detail::Links> links =
      Connecting(options, *rendezvous, std::move(stop), deadline).connect();
  return std::make_shared<detail::LinkCommunicator>(options, "Gloo", std::move(links), rendezvous);
}

}  // namespace nyala
