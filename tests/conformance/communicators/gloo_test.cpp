// What only Gloo has: addresses, trust, and its thread.
#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/strategies/communicators/file_rendezvous.h>
#include <nyala/strategies/communicators/gloo_communicator.h>
#include <nyala/strategies/communicators/gloo_links.h>
#include <nyala/strategies/communicators/link_communicator.h>
#include <nyala/strategies/cross_device/nccl.h>
#include <nyala/strategies/communicators/nccl_communicator.h>
#include <nyala/tests/conformance/communicators/ranks.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::shared_ptr<Communicator> by_gloo(const CommunicatorOptions& options,
                                      const std::shared_ptr<Rendezvous>& rendezvous) {
  return gloo_communicator(options, rendezvous);
}

/// As port scanners do: threads that connect to whatever this process listens on, and close, reset, or send
/// what nobody asked for.
class Strangers {
 public:
  Strangers() {
    for (int i = 0; i < 2; ++i) threads_.emplace_back([this, i] { knock(i); });
  }
  ~Strangers() {
    ends_ = true;
    for (std::thread& thread : threads_) thread.join();
    for (const int socket : kept_) ::close(socket);
  }
  int count() const { return count_; }

 private:
  static std::vector<uint16_t> own_ports() {
    std::set<std::string> own;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
      const std::string target = std::filesystem::read_symlink(entry.path(), error).string();
      if (target.starts_with("socket:[")) own.insert(target.substr(8, target.size() - 9));
    }
    std::vector<uint16_t> ports;
    std::ifstream in("/proc/self/net/tcp");
    for (std::string line; std::getline(in, line);) {
      std::istringstream words(line);
      std::vector<std::string> word(std::istream_iterator<std::string>(words), {});
      if (word.size() > 9 && word[3] == "0A" && own.contains(word[9]))
        ports.push_back(
            static_cast<uint16_t>(std::stoul(word[1].substr(word[1].find(':') + 1), nullptr, 16)));
    }
    return ports;
  }
  void knock(int kind) {
    while (!ends_)
      for (const uint16_t port : own_ports()) {
        const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address = {};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
          ++count_;
          speak(socket, ++kind);
        } else {
          ::close(socket);
        }
      }
  }
  void speak(int socket, int kind) {
    const std::string garbage(kind % 2 ? 5000 : 48, kind % 3 ? '\xff' : '\0');
    const linger reset{1, 0};
    if (kind % 4 == 0) ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    if (kind % 4 > 1) ::send(socket, garbage.data(), garbage.size(), MSG_NOSIGNAL);
    const std::lock_guard lock(mutex_);
    if (kind % 4 == 3 && kept_.size() < 100)
      kept_.push_back(socket);
    else
      ::close(socket);
  }

  std::atomic<bool> ends_{false};
  std::atomic<int> count_{0};
  std::mutex mutex_;
  std::vector<int> kept_;
  std::vector<std::thread> threads_;
};

class Gloo : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!gloo_is_built()) GTEST_SKIP() << "this build has no Gloo";
  }
  ScratchFolder folder_;
  std::shared_ptr<Rendezvous> rendezvous_ = std::make_shared<FileRendezvous>(folder_.path());
  CommunicatorOptions options_{.size = 2, .timeout = std::chrono::milliseconds(700)};
};

TEST_F(Gloo, AnAddressOfTheNetworkNeedsTrust) {
  options_.address = "0.0.0.0";
  EXPECT_THAT(
      error_text<InvalidArgumentError>([&] { gloo_communicator(options_, rendezvous_); }),
      AllOf(HasSubstr("0.0.0.0"), HasSubstr("neither encrypts"), HasSubstr(".trusted_network = true")));
}

TEST_F(Gloo, AnAddressThatIsNone) {
  options_.address = "no.such.host.invalid";
  EXPECT_THAT(error_text<CommunicationError>([&] { gloo_communicator(options_, rendezvous_); }),
              HasSubstr("'no.such.host.invalid' names no address"));
}

/// Debian's /etc/hosts lets a host's own name stand for the loopback.
TEST_F(Gloo, TheLoopbackReachesNoOtherHost) {
  rendezvous_->set("g0/main/gloo/host-1", "loopback elsewhere");
  EXPECT_THAT(error_text<CommunicationError>([&] { gloo_communicator(options_, rendezvous_); }),
              AllOf(HasSubstr("rank 1 (loopback elsewhere)"), HasSubstr("give both an .address")));
}

TEST_F(Gloo, AddressesOfRanksThatAreGoneEndInTime) {
  meeting_at(options_, by_gloo);  // leaves nothing here: a folder of its own
  rendezvous_->set("g0/main/gloo/host-1", "loopback " + std::string(256, 'x'));
  EXPECT_THROW(gloo_communicator(options_, rendezvous_), CommunicationError);
}

/// Connections of which one has ended when the first message is to be received.
struct EndedLinks final : detail::Links {
  struct EndedBuffer final : Buffer {
    void send(int, uint64_t, size_t, size_t) override {}
    void receive(int, uint64_t, size_t, size_t) override { throw std::runtime_error("closed by peer"); }
    bool wait_sent(std::chrono::milliseconds) override { return true; }
    bool wait_received(std::chrono::milliseconds) override { return true; }
    void abort_waits() noexcept override {}
  };
  std::unique_ptr<Buffer> buffer(void*, size_t) override { return std::make_unique<EndedBuffer>(); }
  void close() noexcept override {}
};

TEST_F(Gloo, AConnectionThatEndsWhileAllConnectIsATypedError) {
  EXPECT_THAT(error_text<CommunicationError>([&] {
                detail::LinkCommunicator(options_, "Gloo", std::make_unique<EndedLinks>(), rendezvous_);
              }),
              AllOf(HasSubstr("rank 0 of 2"), HasSubstr("closed by peer")));
}

/// Gives whoever watches the ports of this process time before the other ranks know them.
class SlowRendezvous final : public Rendezvous {
 public:
  explicit SlowRendezvous(std::string folder) : inner_(std::move(folder)) {}
  void set(std::string_view key, std::string_view value) override {
    if (key.find("host-") == std::string::npos) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    inner_.set(key, value);
  }
  std::optional<std::string> get(std::string_view key) override { return inner_.get(key); }
  std::string wait(std::string_view key, std::chrono::milliseconds timeout) override {
    return inner_.wait(key, timeout);
  }
  std::string describe() const override { return inner_.describe(); }

 private:
  FileRendezvous inner_;
};

TEST_F(Gloo, StrangersWhileRanksConnectHarmNobody) {
  Strangers strangers;
  options_.timeout = std::chrono::seconds(20);
  options_.size = 3;
  const auto slow = std::make_shared<SlowRendezvous>(folder_.path());
  const auto ranks =
      meeting_at(options_, [&](const CommunicatorOptions& options, const std::shared_ptr<Rendezvous>&) {
        return gloo_communicator(options, slow);
      });
  const std::vector<RankEnd> ends = run_ranks(ranks, [](Communicator& rank) {
    std::vector<float> values(100'000, static_cast<float>(rank.rank()));
    rank.all_reduce({values.data(), std::ssize(values), DType::float32}, CollectiveOp::sum);
    EXPECT_EQ(values[99'999], 3);
  });
  for (const RankEnd& end : ends) end.rethrow();
  EXPECT_GT(strangers.count(), 10);
}

/// What no rank of ours sends: Gloo throws in its own thread.
TEST_F(Gloo, WhatComesOutOfOrderEndsTheConnectionNotTheProcess) {
  const auto [own, other] = connected_pair();
  std::vector<detail::Socket> sockets(2);
  sockets[1] = detail::Socket(own);
  const auto links = detail::gloo_links(0, std::move(sockets), std::chrono::seconds(5));
  std::vector<std::byte> memory(16);
  const auto buffer = links->buffer(memory.data(), memory.size());
  buffer->receive(1, 7, 0, memory.size());
  const uint64_t message[] = {6 * 8 + 4096, 1, 7, 0, 4096, 0};  // more than fits there
  ASSERT_EQ(::send(other, message, sizeof message, 0), static_cast<ssize_t>(sizeof message));
  bool came = true;
  try {
    came = buffer->wait_received(std::chrono::seconds(5));
  } catch (const std::exception&) {
    came = false;
  }
  EXPECT_FALSE(came);
  EXPECT_ANY_THROW(buffer->send(1, 8, 0, 4));
  ::close(other);
}

/// Of a message that is half written Gloo itself tells nobody.
TEST_F(Gloo, WhoWaitsForAMessageToLeaveHearsThatItsReceiverIsGone) {
  constexpr size_t kMuch = size_t{64} << 20;  // what no socket takes at once
  const auto [own, other] = connected_pair();
  std::vector<detail::Socket> sockets(2), others(2);
  sockets[1] = detail::Socket(own);
  others[0] = detail::Socket(other);
  const auto sends = detail::gloo_links(0, std::move(sockets), std::chrono::seconds(30));
  const auto receives = detail::gloo_links(1, std::move(others), std::chrono::seconds(30));
  std::vector<std::byte> from(kMuch), into(kMuch);
  const auto sent = sends->buffer(from.data(), kMuch), received = receives->buffer(into.data(), kMuch);
  received->receive(0, 7, 0, kMuch);
  sent->send(1, 7, 0, kMuch);
  std::thread goes([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    receives->close();
  });
  const auto begun = std::chrono::steady_clock::now();
  try {
    while (sent->wait_sent(std::chrono::seconds(30))) sent->send(1, 7, 0, kMuch);
  } catch (const std::exception&) {  // the same, told by a send
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(10));
  goes.join();
}

TEST_F(Gloo, TheProgramsHandlingOfSignalsStaysAsItIs) {
  meeting_at(options_, by_gloo);
  struct sigaction now {};
  ::sigaction(SIGPIPE, nullptr, &now);
  EXPECT_EQ(now.sa_handler, SIG_DFL);
}

TEST(NoGloo, SaysWhatToInstall) {
  if (gloo_is_built()) GTEST_SKIP() << "this build has Gloo";
  EXPECT_THAT(error_text<NotFoundError>([] { gloo_communicator({}, nullptr); }), HasSubstr("libgloo-dev"));
}

TEST(NoNccl, SaysWhatToUse) {
  if (nccl_is_built()) GTEST_SKIP() << "this build has NCCL";
  const ScratchFolder folder;
  FileRendezvous rendezvous(folder.path());
  EXPECT_THAT(error_text<NotFoundError>([&] { nccl_communicator({}, rendezvous); }),
              HasSubstr("gloo_communicator"));
}

}  // namespace
}  // namespace nyala::testing
