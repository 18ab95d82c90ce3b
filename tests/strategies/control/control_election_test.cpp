// Threads pose as processes that elect who runs the control plane; real ones are in
// tests/tools/lost_chief_test.cpp.
#include <nyala/strategies/control/control_election.h>

#include <future>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <nyala/strategies/control/port_probe.h>
#include <nyala/tests/support/error_text.h>

namespace nyala::detail::control_election_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// A port of the loopback on which nobody listens, and which nobody else gets meanwhile.
class KeptPort {
 public:
  explicit KeptPort(int port = 0) {
    const int yes = 1;
    ::setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in place = {};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    place.sin_port = htons(static_cast<uint16_t>(port));
    socklen_t size = sizeof place;
    EXPECT_EQ(::bind(socket_, reinterpret_cast<sockaddr*>(&place), size), 0);
    ::getsockname(socket_, reinterpret_cast<sockaddr*>(&place), &size);
    port_ = ntohs(place.sin_port);
  }
  ~KeptPort() { ::close(socket_); }
  KeptPort(const KeptPort&) = delete;
  KeptPort& operator=(const KeptPort&) = delete;
  HostPort address() const { return {"127.0.0.1", port_}; }

 protected:
  int socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), port_ = 0;
};

/// A socket that listens on the loopback and never answers, as a frozen process does.
class SilentPort : public KeptPort {
 public:
  explicit SilentPort(int port = 0) : KeptPort(port) { ::listen(socket_, 16); }
};

/// A port of the loopback on which nobody listens.
HostPort free_address() { return KeptPort().address(); }

/// What a process has of the control plane.
struct Member {
  Member(int rank, const std::vector<std::string>& addresses, int min_size, bool come_back,
         std::chrono::milliseconds timeout = 20s)
      : election({.rank = rank,
                  .size = static_cast<int>(addresses.size()),
                  .addresses = addresses,
                  .own = *parse_address(addresses[static_cast<size_t>(rank)]),
                  .fallback = {"127.0.0.1", 0},
                  .security = {.token = "secret"},
                  .min_size = min_size,
                  .come_back = come_back,
                  .rejoin_timeout = 1s,
                  .timeout = timeout,
                  .heartbeat = 500ms}),
        client({.address = *parse_address(addresses[0]),
                .security = {.token = "secret"},
                .rank = rank,
                .size = static_cast<int>(addresses.size()),
                .own_address = election.own_address().text(),
                .timeout = 20s,
                .heartbeat = 500ms,
                .is_elected = true}) {}
  void join() {
    election.join(client);
    client.confirm();
  }

  ControlElection election;
  ControlClient client;
};

class Election : public testing::Test {
 protected:
  void SetUp() override {
    if (!grpc_is_built()) GTEST_SKIP() << "this build has no gRPC";
    for (int rank = 0; rank < 3; ++rank) addresses_.push_back(free_address().text());
  }
  std::unique_ptr<Member> member(int rank, int min_size = 2, bool come_back = false) const {
    return std::make_unique<Member>(rank, addresses_, min_size, come_back);
  }
  /// All at the same time.
  static void join(std::initializer_list<Member*> members) {
    std::vector<std::future<void>> ends;
    for (Member* const one : members) ends.push_back(std::async([one] { one->join(); }));
    for (std::future<void>& end : ends) end.get();
  }

  std::vector<std::string> addresses_;
};

TEST_F(Election, TheLowestRankThatIsLeftServes) {
  auto a = member(0), b = member(1), c = member(2);
  join({a.get(), b.get(), c.get()});
  EXPECT_EQ(c->election.server().rank, 0);
  EXPECT_EQ(c->client.generation(), 1u);
  a.reset();
  const auto begin = std::chrono::steady_clock::now();
  join({b.get(), c.get()});
  EXPECT_EQ(c->election.server().rank, 1);
  EXPECT_EQ(c->election.server().address.text(), addresses_[1]);
  EXPECT_EQ(c->client.members().size(), 2u);
  EXPECT_EQ(c->client.rank(), 1);
  EXPECT_EQ(c->client.generation(), 2u);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
  // Rank 0 is started again: it finds who serves, and the others go on with it.
  c->client.take_newcomers(true);
  a = member(0);
  std::future<void> late = std::async([&] { a->join(); });
  expect_error<CommunicationError>([&] { c->client.barrier("x"); }, {"a new generation begins with it"});
  join({b.get(), c.get()});
  late.get();
  EXPECT_EQ(a->election.server().rank, 1);
  EXPECT_EQ(a->client.generation(), 3u);
  EXPECT_EQ(a->client.rank(), 0);
  b.reset();  // who serves may be lost again
  join({a.get(), c.get()});
  EXPECT_EQ(c->election.server().rank, 0);
  EXPECT_EQ(c->client.generation(), 4u);
}

TEST_F(Election, OneThatIsStartedAgainIsWaitedFor) {
  auto a = member(0, 0, true), b = member(1, 0, true), c = member(2, 0, true);
  join({a.get(), b.get(), c.get()});
  a.reset();
  std::future<void> others = std::async([&] { join({b.get(), c.get()}); });
  EXPECT_EQ(others.wait_for(2s), std::future_status::timeout);
  a = member(0, 0, true);
  a->join();
  others.get();
  EXPECT_EQ(a->client.generation(), 2u);
  EXPECT_EQ(a->election.server().rank, b->election.server().rank);
}

/// As under torchrun: only the first one's address is known to one that is started again.
TEST_F(Election, OneThatKnowsNobodyIsFoundByThoseWhoAwaitIt) {
  auto b = member(1, 0, true), c = member(2, 0, true);
  const auto alone = [&] {
    return std::make_unique<Member>(0, std::vector<std::string>{addresses_[0], "", ""}, 0, true);
  };
  auto a = alone();
  join({a.get(), b.get(), c.get()});
  a.reset();
  std::future<void> others = std::async([&] { join({b.get(), c.get()}); });
  EXPECT_EQ(others.wait_for(2s), std::future_status::timeout);
  a = alone();
  a->join();
  others.get();
  EXPECT_EQ(a->client.generation(), 2u);
  EXPECT_EQ(a->election.server().rank, 1);
}

TEST_F(Election, AMinorityEndsWithAnErrorThatNamesWhoIsMissing) {
  auto a = member(0), b = member(1), c = member(2);
  join({a.get(), b.get(), c.get()});
  a.reset();
  b.reset();
  const auto begin = std::chrono::steady_clock::now();
  expect_error<TimeoutError>([&] { c->join(); }, {"2 of 3 processes did not come", "rank 0", "rank 1"});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 15s);
}

TEST_F(Election, OneGoesOnAloneWhereItSeesThatTheOthersHaveEnded) {
  auto a = member(0, 1), b = member(1, 1), c = member(2, 1);
  join({a.get(), b.get(), c.get()});
  a.reset();
  b.reset();
  c->join();
  EXPECT_EQ(c->client.members().size(), 1u);
  EXPECT_EQ(c->election.server().rank, 2);
}

/// The address of rank 0 leads to one who is silent, as behind a cut network: it may be alive.
TEST_F(Election, OneDoesNotGoOnAloneWhereAnotherIsSilent) {
  auto a = member(0, 1), b = member(1, 1), c = member(2, 1);
  join({a.get(), b.get(), c.get()});
  a.reset();
  b.reset();
  const SilentPort silent(parse_address(addresses_[0])->port);
  expect_error<TimeoutError>([&] { c->join(); },
                             {"rank 0", "rank 1", "Without a majority of generation 1 (1 of 3 are here)"});
}

/// One that is new serves nobody.
TEST_F(Election, WhatWasSeenIsSaid) {
  const SilentPort silent;
  const KeptPort gone;
  addresses_[0] = silent.address().text();
  addresses_[1] = gone.address().text();
  const auto c = std::make_unique<Member>(2, addresses_, 2, false, 2s);
  expect_error<TimeoutError>([&] { c->join(); },
                             {"rank 2 finds none", "rank 0 at " + addresses_[0] + " does not answer",
                              "rank 1 at " + addresses_[1] + " is gone"});
}

TEST_F(Election, TwoThatServeBecomeOne) {
  auto a = member(0, 0, true), b = member(1, 0, true), c = member(2, 0, true);
  join({a.get(), b.get(), c.get()});
  a->client.abort("once more");
  join({a.get(), b.get(), c.get()});
  EXPECT_EQ(b->election.server().rank, 0);
  a.reset();
  // b serves and waits; rank 0 comes back, and whoever of the two serves, all find one generation.
  std::future<void> second = std::async([&] { b->join(); });
  std::this_thread::sleep_for(300ms);
  a = member(0, 0, true);
  std::future<void> first = std::async([&] { a->join(); });
  std::this_thread::sleep_for(300ms);
  c->join();
  first.get();
  second.get();
  EXPECT_EQ(a->election.server().address.text(), b->election.server().address.text());
  EXPECT_EQ(c->client.generation(), 3u);
}

TEST_F(Election, AnotherTokenIsNoProcessOfTheCluster) {
  const auto a = member(0);
  const ControlCandidate candidate{0, a->election.own_address()};
  const auto seen = [&](const std::string& token) {
    return look_at({&candidate, 1}, {.rank = 1, .size = 3, .security = {.token = token}, .timeout = 2s})
        .front();
  };
  EXPECT_EQ(seen("secret").kind, ControlSight::Kind::waits);
  EXPECT_EQ(seen("other").kind, ControlSight::Kind::silent);
  EXPECT_THAT(seen("other").text(), HasSubstr("rank 0 at " + addresses_[0] + " does not answer"));
}

TEST_F(Election, APortThatIsTakenIsAnErrorOfRankZeroAlone) {
  const auto a = member(0), b = member(1);
  EXPECT_THROW(member(0), IoError);
  const auto second = member(1);  // listens elsewhere
  EXPECT_NE(second->election.own_address().port, b->election.own_address().port);
}

TEST(PortProbe, SaysWhetherSomebodyListens) {
  const SilentPort silent;
  EXPECT_EQ(probe_port(silent.address(), 1s), PortState::open);
  EXPECT_EQ(probe_port(free_address(), 1s), PortState::refused);
  EXPECT_EQ(probe_port({"no-such-host.invalid", 1}, 1s), PortState::silent);
}

}  // namespace
}  // namespace nyala::detail::control_election_test
