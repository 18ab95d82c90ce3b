// What only Gloo has: addresses, trust, and its thread.
#include <signal.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/strategies/communicators/file_rendezvous.h>
#include <nyala/strategies/communicators/gloo_communicator.h>
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

TEST_F(Gloo, NoSignalOfABrokenPipeEndsTheProcess) {
  meeting_at(options_, by_gloo);
  struct sigaction now {};
  ::sigaction(SIGPIPE, nullptr, &now);
  EXPECT_EQ(now.sa_handler, SIG_IGN);
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
