// A rank connects to those below it and then takes those above it; connections that come earlier wait in the
// queue of the listening socket. Who connects says which rank it is and the secret of the rank it wants, who
// is connected to answers with the secret of the other one.
#include <nyala/strategies/communicators/peer_sockets.h>

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <list>
#include <memory>
#include <system_error>
#include <thread>

#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/system_random.h>

namespace nyala::detail {

Socket::~Socket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kLook{50};             // for a stop
constexpr std::chrono::seconds kToSpeak{10};  // what comes says its secret at once
constexpr size_t kMostSilent = 256;           // that may have connected and have not said it yet
constexpr std::string_view kGreeting = "nyala 1 ";
constexpr size_t kSecret = 64, kRankDigits = 8, kHello = kGreeting.size() + kRankDigits + kSecret;

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

std::string error_text(int error) { return std::generic_category().message(error); }

std::string hexadecimal(uint64_t number, size_t digits) {
  std::string text(digits, '0');
  for (size_t i = digits; i-- > 0; number >>= 4) text[i] = "0123456789abcdef"[number & 15];
  return text;
}

std::string drawn_secret() {
  std::string secret;
  while (secret.size() < kSecret) secret += hexadecimal(system_random(), 16);
  return secret;
}

/// In a time that does not depend on where they differ.
bool is_same(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return difference == 0;
}

Addresses addresses_of(const std::string& host, const std::string& port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (::getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) found = nullptr;
  return {found, &::freeaddrinfo};
}

Socket new_socket(const addrinfo& address) {
  return Socket(
      ::socket(address.ai_family, address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, address.ai_protocol));
}

/// Whether there is something to do for it within `kLook`.
bool is_ready(int descriptor, short events) {
  pollfd one{descriptor, events, 0};
  return ::poll(&one, 1, static_cast<int>(kLook.count())) > 0;
}

/// What another rank has to know to reach this one.
struct Place {
  std::string secret, port, host;

  std::string text() const { return secret + " " + port + " " + host; }
  static Place of(const std::string& text) {
    const size_t first = text.find(' '), second = text.find(' ', std::min(first, text.size() - 1) + 1);
    if (first != kSecret || second == std::string::npos) return {};
    return {text.substr(0, first), text.substr(first + 1, second - first - 1), text.substr(second + 1)};
  }
};

class PeerConnector {
 public:
  PeerConnector(const PeerMeeting& meeting, Rendezvous& rendezvous, const std::stop_token& stop)
      : meeting_(meeting),
        rendezvous_(rendezvous),
        stop_(stop),
        own_{drawn_secret(), "", ""},
        secrets_(static_cast<size_t>(meeting.size)),
        connected_(static_cast<size_t>(meeting.size)) {}

  std::vector<Socket> connect() {
    if (meeting_.size == 1) return std::move(connected_);
    listen();
    rendezvous_.set(key_of(meeting_.rank), own_.text());
    for (int peer = 0; peer < meeting_.rank; ++peer) reach(peer);
    for (int peer = meeting_.rank + 1; peer < meeting_.size; ++peer)
      secrets_[static_cast<size_t>(peer)] = place_of(peer).secret;
    while (!missing().empty()) {
      check_time(missing());
      take_some();
    }
    return std::move(connected_);
  }

 private:
  struct Newcomer {
    Socket socket;
    std::string said;
    Clock::time_point since;
  };

  std::string key_of(int rank) const { return meeting_.prefix + "socket-" + std::to_string(rank); }

  Place place_of(int peer) {
    const auto left = std::chrono::ceil<milliseconds>(meeting_.deadline - Clock::now());
    Place place = Place::of(rendezvous_.wait(key_of(peer), std::max(left, milliseconds(1))));
    if (place.secret.empty())
      throw CommunicationError(meeting_.who + "what rank " + std::to_string(peer) +
                               " left at the rendezvous is no address");
    return place;
  }

  void listen() {
    int error = EADDRNOTAVAIL;
    const Addresses found = addresses_of(meeting_.address, "0");
    for (const addrinfo* one = found.get(); one != nullptr; one = one->ai_next) {
      Socket socket = new_socket(*one);
      const int queue = std::max(128, meeting_.size);
      if (socket.is_open() && ::bind(socket.descriptor(), one->ai_addr, one->ai_addrlen) == 0 &&
          ::listen(socket.descriptor(), queue) == 0 && note_own_place(socket.descriptor())) {
        listener_ = std::move(socket);
        return;
      }
      error = errno;
    }
    throw CommunicationError(meeting_.who + "cannot listen at " + meeting_.address + ": " +
                             error_text(error));
  }

  bool note_own_place(int socket) {
    sockaddr_storage own{};
    auto* const address = reinterpret_cast<sockaddr*>(&own);
    socklen_t size = sizeof own;
    char host[NI_MAXHOST] = {}, port[NI_MAXSERV] = {};
    if (::getsockname(socket, address, &size) != 0 ||
        ::getnameinfo(address, size, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) !=
            0)
      return false;
    own_.host = host;
    own_.port = port;
    return true;
  }

  std::string missing() const {
    std::string ranks;
    int count = 0;
    for (int peer = 0; peer < meeting_.size; ++peer) {
      if (peer == meeting_.rank || connected_[static_cast<size_t>(peer)].is_open()) continue;
      if (++count <= 16) ranks += (ranks.empty() ? "rank " : ", rank ") + std::to_string(peer);
    }
    return count > 16 ? ranks + " and " + std::to_string(count - 16) + " more" : ranks;
  }

  void check_time(const std::string& whom, const std::string& why = "") const {
    if (stop_.stop_requested())
      throw CommunicationError(meeting_.who + "the group was given up while all connected");
    if (Clock::now() < meeting_.deadline) return;
    throw TimeoutError(meeting_.who + "this rank, at " + own_.host + " port " + own_.port +
                       ", is not connected with " + whom + (why.empty() ? "" : ": " + why));
  }

  /// Connects to a rank that listens already; again and again, where strangers are in the way.
  void reach(int peer) {
    const Place place = place_of(peer);
    const std::string whom = "rank " + std::to_string(peer) + " at " + place.host + " port " + place.port;
    for (std::string why = "no answer";;) {
      check_time(whom, why);
      Socket socket = begin(place, whom, why);
      if (socket.is_open() && exchange_secrets(socket, place, whom)) {
        connected_[static_cast<size_t>(peer)] = std::move(socket);
        return;
      }
      if (socket.is_open()) why = "it closed the connection";
      std::this_thread::sleep_for(kLook);
    }
  }

  /// A connection that stands, or none.
  Socket begin(const Place& place, const std::string& whom, std::string& why) const {
    const Addresses found = addresses_of(place.host, place.port);
    if (!found) return Socket();
    Socket socket = new_socket(*found);
    if (::connect(socket.descriptor(), found->ai_addr, found->ai_addrlen) != 0 && errno != EINPROGRESS) {
      why = error_text(errno);
      return Socket();
    }
    while (!is_ready(socket.descriptor(), POLLOUT)) check_time(whom, "no answer");
    int error = 0;
    socklen_t size = sizeof error;
    if (::getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0)
      return socket;
    why = error_text(error);
    return Socket();
  }

  /// False where the connection ends, or what comes is not the answer.
  bool exchange_secrets(const Socket& socket, const Place& place, const std::string& whom) const {
    const std::string hello = std::string(kGreeting) +
                              hexadecimal(static_cast<uint64_t>(meeting_.rank), kRankDigits) + place.secret;
    if (!send_whole(socket, hello)) return false;
    std::string answer;
    while (answer.size() < kSecret) {
      check_time(whom, "it does not answer");
      if (is_ready(socket.descriptor(), POLLIN) && !receive_some(socket, kSecret, answer)) return false;
    }
    return is_same(answer, own_.secret);
  }

  /// So few bytes that a new connection has room for them.
  static bool send_whole(const Socket& socket, const std::string& text) {
    return ::send(socket.descriptor(), text.data(), text.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(text.size());
  }

  /// False at the end of the connection. What is behind `most` bytes stays there.
  static bool receive_some(const Socket& socket, size_t most, std::string& said) {
    char bytes[kHello];
    const ssize_t size = ::recv(socket.descriptor(), bytes, most - said.size(), 0);
    if (size < 0) return errno == EAGAIN || errno == EINTR;
    said.append(bytes, static_cast<size_t>(size));
    return size > 0;
  }

  void take_some() {
    std::vector<pollfd> all = {{listener_.descriptor(), POLLIN, 0}};
    for (const Newcomer& newcomer : newcomers_) all.push_back({newcomer.socket.descriptor(), POLLIN, 0});
    ::poll(all.data(), all.size(), static_cast<int>(kLook.count()));
    size_t place = 1;
    for (auto newcomer = newcomers_.begin(); newcomer != newcomers_.end();) {
      const bool stays =
          all[place++].revents == 0 ? Clock::now() - newcomer->since < kToSpeak : hears_more(*newcomer);
      newcomer = stays ? std::next(newcomer) : newcomers_.erase(newcomer);
    }
    if (all[0].revents != 0) accept_all();
  }

  void accept_all() {
    for (;;) {
      Socket socket(::accept4(listener_.descriptor(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!socket.is_open()) {
        const bool is_full = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
        if (is_full && !newcomers_.empty()) newcomers_.pop_front();
        if (is_full) std::this_thread::sleep_for(kLook);
        return;
      }
      newcomers_.push_back({std::move(socket), "", Clock::now()});
      if (newcomers_.size() > std::max(kMostSilent, connected_.size())) newcomers_.pop_front();
    }
  }

  /// False where nothing more is to come of it: it has become a peer's connection, or is a stranger's.
  bool hears_more(Newcomer& newcomer) {
    if (!receive_some(newcomer.socket, kHello, newcomer.said)) return false;
    if (newcomer.said.size() < kHello) return true;
    const std::string_view said = newcomer.said;
    if (!is_same(said.substr(0, kGreeting.size()), kGreeting) ||
        !is_same(said.substr(kGreeting.size() + kRankDigits), own_.secret))
      return false;
    const std::string_view digits = said.substr(kGreeting.size(), kRankDigits);
    int peer = -1;
    std::from_chars(digits.data(), digits.data() + digits.size(), peer, 16);
    if (peer <= meeting_.rank || peer >= meeting_.size) return false;
    const auto at = static_cast<size_t>(peer);
    if (send_whole(newcomer.socket, secrets_[at])) connected_[at] = std::move(newcomer.socket);
    return false;
  }

  const PeerMeeting& meeting_;
  Rendezvous& rendezvous_;
  const std::stop_token& stop_;
  Place own_;
  std::vector<std::string> secrets_;  // of those above
  Socket listener_;
  std::vector<Socket> connected_;
  std::list<Newcomer> newcomers_;
};

}  // namespace

std::vector<Socket> connect_peers(const PeerMeeting& meeting, Rendezvous& rendezvous,
                                  const std::stop_token& stop) {
  return PeerConnector(meeting, rendezvous, stop).connect();
}

}  // namespace nyala::detail
