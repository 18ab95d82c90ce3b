#include <nyala/strategies/communicators/peer_sockets.h>

#include <algorithm>
#include <future>
#include <sstream>
#include <thread>

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <nyala/strategies/communicators/file_rendezvous.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala::detail {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class PeerSockets : public testing::Test {
 protected:
  static PeerMeeting meeting(int rank, int size, std::chrono::milliseconds time) {
    return {.rank = rank,
            .size = size,
            .address = "127.0.0.1",
            .prefix = "test/",
            .who = "rank " + std::to_string(rank) + ": ",
            .deadline = Clock::now() + time};
  }
  std::future<std::vector<Socket>> connects(int rank, int size, std::chrono::milliseconds time = 20s,
                                            std::stop_token stop = {}) {
    return std::async(std::launch::async, [this, rank, size, time, stop] {
      return connect_peers(meeting(rank, size, time), rendezvous_, stop);
    });
  }
  /// A connection to where a rank listens.
  Socket stranger_at(int rank) {
    std::istringstream place(rendezvous_.wait("test/socket-" + std::to_string(rank), 10s));
    std::string secret, port, host;
    place >> secret >> port >> host;
    addrinfo* found = nullptr;
    EXPECT_EQ(::getaddrinfo(host.c_str(), port.c_str(), nullptr, &found), 0);
    Socket socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(socket.descriptor(), found->ai_addr, found->ai_addrlen), 0);
    ::freeaddrinfo(found);
    return socket;
  }
  std::string secret_of(int rank) {
    return rendezvous_.wait("test/socket-" + std::to_string(rank), 10s).substr(0, 64);
  }
  static void say(const Socket& socket, const std::string& text) {
    EXPECT_EQ(::send(socket.descriptor(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  /// Whether the other side closes, without a byte.
  static bool is_turned_away(const Socket& socket) {
    char byte = 0;
    return ::recv(socket.descriptor(), &byte, 1, 0) <= 0;
  }
  static void expect_joined(const Socket& one, const Socket& other) {
    ASSERT_TRUE(one.is_open() && other.is_open());
    say(one, "x");
    char byte = 0;
    for (int i = 0; i < 1000 && ::recv(other.descriptor(), &byte, 1, 0) != 1; ++i)
      std::this_thread::sleep_for(1ms);
    EXPECT_EQ(byte, 'x');
  }

  ScratchFolder folder_;
  FileRendezvous rendezvous_{folder_.path()};
};

TEST_F(PeerSockets, EveryTwoRanksAreConnected) {
  std::vector<std::future<std::vector<Socket>>> ends;
  for (int rank = 0; rank < 5; ++rank) ends.push_back(connects(rank, 5));
  std::vector<std::vector<Socket>> all;
  for (auto& end : ends) all.push_back(end.get());
  for (size_t i = 0; i < 5; ++i)
    for (size_t j = 0; j < 5; ++j)
      if (i != j) expect_joined(all[i][j], all[j][i]);
  EXPECT_FALSE(all[2][2].is_open());
}

TEST_F(PeerSockets, StrangersAreTurnedAway) {
  auto first = connects(0, 2);
  const Socket silent = stranger_at(0), garbage = stranger_at(0), guess = stranger_at(0),
               itself = stranger_at(0), beyond = stranger_at(0);
  stranger_at(0);  // closes at once
  const Socket reset = stranger_at(0);
  const linger at_once{1, 0};
  ::setsockopt(reset.descriptor(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  auto second = connects(1, 2);  // behind them all
  say(silent, "nyala 1 ");
  say(garbage, std::string(4096, '\xff'));
  say(guess, "nyala 1 00000001" + std::string(64, '0'));
  say(itself, "nyala 1 00000000" + secret_of(0));
  say(beyond, "nyala 1 00000002" + secret_of(0));
  const std::vector<Socket> of_first = first.get(), of_second = second.get();
  expect_joined(of_first[1], of_second[0]);
  for (const Socket* const one : {&garbage, &guess, &itself, &beyond, &silent})
    EXPECT_TRUE(is_turned_away(*one));
}

/// An old address at which somebody else listens by now: what it answers is not the secret of who asks.
TEST_F(PeerSockets, WhoTakesAnotherRanksPlaceIsNotBelieved) {
  auto other = connects(0, 2, 1s);
  const std::string place = rendezvous_.wait("test/socket-0", 10s);
  rendezvous_.set("test/socket-0", std::string(64, '0') + place.substr(64));
  const std::string text = error_text<TimeoutError>([&] { connects(1, 2, 500ms).get(); });
  EXPECT_NE(text.find("is not connected with rank 0 at 127.0.0.1 port "), std::string::npos) << text;
  EXPECT_NE(text.find("it closed the connection"), std::string::npos) << text;
  EXPECT_THROW(other.get(), CommunicationError);
}

TEST_F(PeerSockets, WhoIsNotThereIsNamed) {
  rendezvous_.set("test/socket-1", std::string(64, '0') + " 1 127.0.0.1");
  rendezvous_.set("test/socket-2", std::string(64, '0') + " 1 127.0.0.1");
  expect_error<TimeoutError>([&] { connects(0, 3, 300ms).get(); }, {"rank 0: this rank, at 127.0.0.1 port ",
                                                                    "is not connected with rank 1, rank 2"});
  expect_error<TimeoutError>([&] { connects(2, 3, 300ms).get(); }, {"with rank 0 at", "Connection refused"});
  PeerMeeting elsewhere = meeting(0, 2, 1s);
  elsewhere.address = "192.0.2.1";
  expect_error<CommunicationError>([&] { connect_peers(elsewhere, rendezvous_); },
                                   {"cannot listen at 192.0.2.1: Cannot assign requested address"});
}

TEST_F(PeerSockets, AStopEndsTheWait) {
  rendezvous_.set("test/socket-1", std::string(64, '0') + " 1 127.0.0.1");
  std::stop_source stop;
  auto waits = connects(0, 2, 20s, stop.get_token());
  std::this_thread::sleep_for(100ms);
  const auto begun = Clock::now();
  stop.request_stop();
  expect_error<CommunicationError>([&] { waits.get(); }, {"was given up while all connected"});
  EXPECT_LT(Clock::now() - begun, 5s);
}

}  // namespace
}  // namespace nyala::detail
