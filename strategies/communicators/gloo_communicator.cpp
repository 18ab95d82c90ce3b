// Only messages between two ranks are Gloo's, by its unbound buffers: its collectives end the process where
// ranks disagree on a size, cannot be interrupted, and add in an order that depends on the algorithm.
#include <nyala/strategies/communicators/gloo_communicator.h>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>

#include <cstring>
#include <mutex>

#include <gloo/context.h>
#include <gloo/transport/address.h>
#include <gloo/transport/context.h>
#include <gloo/transport/pair.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>

#include <nyala/backend/core/error.h>
#include <nyala/strategies/communicators/host_name.h>
#include <nyala/strategies/communicators/link_communicator.h>

namespace nyala {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

class GlooBuffer final : public detail::Links::Buffer {
 public:
  explicit GlooBuffer(std::unique_ptr<gloo::transport::UnboundBuffer> buffer) : buffer_(std::move(buffer)) {}
  void send(int peer, uint64_t tag, size_t offset, size_t bytes) override {
    buffer_->send(peer, tag, offset, bytes);
  }
  void receive(int peer, uint64_t tag, size_t offset, size_t bytes) override {
    buffer_->recv(peer, tag, offset, bytes);
  }
  bool wait_sent(milliseconds timeout) override { return buffer_->waitSend(nullptr, timeout); }
  bool wait_received(milliseconds timeout) override { return buffer_->waitRecv(nullptr, timeout); }
  void abort_waits() noexcept override {
    buffer_->abortWaitSend();
    buffer_->abortWaitRecv();
  }

 private:
  std::unique_ptr<gloo::transport::UnboundBuffer> buffer_;
};

/// Gloo's context with a connection to each of the others, which another thread can end while they are made.
class GlooContext final : public gloo::Context {
 public:
  GlooContext(int rank, int size, std::shared_ptr<gloo::transport::Device> device, milliseconds timeout)
      : gloo::Context(rank, size) {
    setTimeout(timeout);
    device_ = std::move(device);
    transportContext_ = device_->createContext(rank, size);
    transportContext_->setTimeout(timeout);
    for (int peer = 0; peer < size; ++peer)
      if (peer != rank) transportContext_->createPair(peer);
  }
  /// Where `peer` finds this rank.
  std::vector<char> address_for(int peer) { return getPair(peer)->address().bytes(); }
  /// Returns early where closeConnections() comes meanwhile.
  void connect(int peer, const std::vector<char>& address) { getPair(peer)->connect(address); }
};

class GlooLinks final : public detail::Links {
 public:
  explicit GlooLinks(std::shared_ptr<GlooContext> context) : context_(std::move(context)) {}
  ~GlooLinks() override { close(); }
  std::unique_ptr<Buffer> buffer(void* data, size_t bytes) override {
    return std::make_unique<GlooBuffer>(context_->createUnboundBuffer(data, bytes));
  }
  void close() noexcept override {
    try {
      context_->closeConnections();
    } catch (const std::exception&) {  // they are closed
    }
  }

 private:
  std::shared_ptr<GlooContext> context_;
};

/// Its thread writes to connections without asking for no signal.
void ignore_broken_pipes() {
  struct sigaction now {};
  if (::sigaction(SIGPIPE, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 &&
      now.sa_handler == SIG_DFL)
    ::signal(SIGPIPE, SIG_IGN);
}

/// Gloo's thread handles no signals of the program.
std::shared_ptr<gloo::transport::Device> make_device(const std::string& address) {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  struct Restore {
    const sigset_t& before;
    ~Restore() { ::pthread_sigmask(SIG_SETMASK, &before, nullptr); }
  } restore{before};
  gloo::transport::tcp::attr attributes;
  attributes.hostname = address;
  return gloo::transport::tcp::CreateDevice(attributes);
}

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
  Connecting(const CommunicatorOptions& options, Rendezvous& rendezvous, std::stop_token stop)
      : options_(options),
        rendezvous_(rendezvous),
        stop_(std::move(stop)),
        prefix_(detail::group_prefix(options) + "gloo/"),
        address_(options.address.empty() ? "127.0.0.1" : options.address),
        loopback_(names_loopback(address_)),
        deadline_(Clock::now() + options.timeout) {}

  std::unique_ptr<detail::Links> connect() {
    check_trust();
    meet();
    ignore_broken_pipes();
    try {
      const milliseconds fifth =
          std::max(left() / 5, milliseconds(100));  // Gloo waits five times as long for each
      const auto context =
          std::make_shared<GlooContext>(options_.rank, options_.size, make_device(address_), fifth);
      connect_all(*context);
      return std::make_unique<GlooLinks>(context);
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      throw CommunicationError(who() + "cannot connect to all other ranks from " + address_ + ": " +
                               error.what());
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

  /// Addresses are of one size; so many of them are one value at the rendezvous.
  static constexpr int kAtOnce = 256;
  std::string addresses_key(int of, int chunk) const {
    return prefix_ + "addresses-" + std::to_string(of) + "-" + std::to_string(chunk);
  }

  void connect_all(GlooContext& context) {
    if (options_.size == 1) return;
    const std::stop_callback close_when_told(stop_, [&] { context.closeConnections(); });
    std::string addresses;
    for (int peer = 0; peer < options_.size; ++peer) {
      const std::vector<char> own =
          context.address_for(peer == options_.rank ? (peer + 1) % options_.size : peer);
      addresses.append(own.begin(), own.end());
      if ((peer + 1) % kAtOnce != 0 && peer + 1 < options_.size) continue;
      rendezvous_.set(addresses_key(options_.rank, peer / kAtOnce), addresses);
      addresses.clear();
    }
    for (int peer = 0; peer < options_.size; ++peer) {
      if (peer == options_.rank) continue;
      context.connect(peer, address_of(peer));
      if (stop_.stop_requested())
        throw CommunicationError(who() + "the group was given up while all connected");
    }
  }

  std::vector<char> address_of(int peer) {
    const int chunk = options_.rank / kAtOnce, in_chunk = std::min(kAtOnce, options_.size - chunk * kAtOnce);
    const std::string all = rendezvous_.wait(addresses_key(peer, chunk), left());
    const size_t bytes = all.size() / static_cast<size_t>(in_chunk);
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(bytes) * (options_.rank % kAtOnce);
    return {begin, begin + static_cast<std::ptrdiff_t>(bytes)};
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

std::shared_ptr<Communicator> gloo_communicator(const CommunicatorOptions& options,
                                                const std::shared_ptr<Rendezvous>& rendezvous,
                                                std::stop_token stop) {
  detail::check_communicator_options(options);
  std::unique_ptr<detail::Links> links = Connecting(options, *rendezvous, std::move(stop)).connect();
  return std::make_shared<detail::LinkCommunicator>(options, "Gloo", std::move(links), rendezvous);
}

}  // namespace nyala
