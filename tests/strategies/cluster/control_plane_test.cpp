// The control plane over gRPC on the loopback, among threads and among processes.
#include <nyala/strategies/control/control_client.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <nyala/backend/core/log.h>
#include <nyala/strategies/control/control_server.h>
#include <nyala/tests/support/certificates.h>
#include <nyala/tests/support/child_process.h>
#include <nyala/tests/support/error_text.h>

namespace nyala::detail {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class ControlPlane : public testing::Test {
 protected:
  void SetUp() override {
    if (!grpc_is_built()) GTEST_SKIP() << "this build has no gRPC";
  }
  static HostPort loopback() { return {"127.0.0.1", 0}; }
  static ControlClientOptions member(const ControlServer& server, int rank, int size) {
    return {.address = server.address(), .rank = rank, .size = size, .timeout = 20s, .heartbeat = 500ms};
  }
  /// f(rank) on a thread each; their exceptions are failures.
  template <class F>
  static void as_ranks(int size, F&& f) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size; ++rank)
      threads.emplace_back([&f, rank] {
        try {
          f(rank);
        } catch (const std::exception& error) {
          ADD_FAILURE() << "rank " << rank << ": " << error.what();
        }
      });
    for (std::thread& thread : threads) thread.join();
  }
};

/// gRPC writes of its own to the standard error.
TEST_F(ControlPlane, APortThatIsTakenIsOneErrorAndNoOtherLines) {
  if (std::getenv("GRPC_VERBOSITY") || std::getenv("GRPC_TRACE")) GTEST_SKIP() << "gRPC is told what to log";
  const ControlServer first(loopback(), {}, {.size = 1});
  std::vector<std::string> lines;
  set_log_level("info");
  set_log_sink([&](LogChannel, std::string_view line) { lines.emplace_back(line); });
  testing::internal::CaptureStderr();
  expect_error<IoError>([&] { ControlServer(first.address(), {}, {.size = 1}); }, {"is the port taken"});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  set_log_sink({});
  set_log_level("");
  ASSERT_FALSE(lines.empty());
  EXPECT_TRUE(lines[0].starts_with("gRPC: ")) << lines[0];
}

TEST_F(ControlPlane, ProcessesMeetAndExchangeKeys) {
  const ControlServer server(loopback(), {}, {.size = 3});
  as_ranks(3, [&](int rank) {
    ControlClientOptions config = member(server, rank, 3);
    config.own_address = "host:" + std::to_string(rank);
    ControlClient client(config);
    EXPECT_EQ(client.generation(), 1u);
    ASSERT_EQ(client.members().size(), 3u);
    EXPECT_EQ(client.members()[2].address, "host:2");
    client.set("key/" + std::to_string(rank), std::string(65536, static_cast<char>('a' + rank)));
    for (int other = 0; other < 3; ++other)
      EXPECT_EQ(client.wait("key/" + std::to_string(other), 10s),
                std::string(65536, static_cast<char>('a' + other)));
    EXPECT_FALSE(client.get("none"));
    client.agree("model", {{"hash", "x"}});
    client.barrier("end");
  });
}

// The server answers those who only listen when their own heartbeat is over: its own would be too late for
// them.
TEST_F(ControlPlane, AClientWithAShorterHeartbeatThanTheServersStays) {
  const ControlServer server(loopback(), {}, {.size = 2, .heartbeat = 2s});
  as_ranks(2, [&](int rank) {
    ControlClientOptions config = member(server, rank, 2);
    config.heartbeat = 200ms;
    std::atomic<int> notices{0};
    config.on_notice = [&](const ControlNotice&) { ++notices; };
    ControlClient client(config);
    if (rank == 1) std::this_thread::sleep_for(1500ms);
    client.barrier("end");
    EXPECT_EQ(notices, 0);
  });
}

TEST_F(ControlPlane, AnAbortReachesWhoWaits) {
  const ControlServer server(loopback(), {}, {.size = 2});
  as_ranks(2, [&](int rank) {
    ControlClient client(member(server, rank, 2));
    if (rank == 1) return client.abort("replica 1: no memory");
    const auto begin = Clock::now();
    expect_error<CommunicationError>([&] { client.barrier("x"); },
                                     {"rank 0", "rank 1 on", "replica 1: no memory"});
    EXPECT_LT(Clock::now() - begin, 5s);
    expect_error<CommunicationError>([&] { client.barrier("y"); }, {"replica 1: no memory"});
  });
}

TEST_F(ControlPlane, NoticesCome) {
  const ControlServer server(loopback(), {}, {.size = 2});
  as_ranks(2, [&](int rank) {
    ControlClientOptions config = member(server, rank, 2);
    std::atomic<int> notices{0};
    config.on_notice = [&](const ControlNotice& notice) {
      if (notice.kind == ControlNotice::Kind::preemption && notice.text.find("SIGTERM") != std::string::npos)
        ++notices;
    };
    ControlClient client(config);
    if (rank == 1) client.announce_preemption("SIGTERM");
    for (int i = 0; i < 500 && notices == 0; ++i) std::this_thread::sleep_for(10ms);
    EXPECT_EQ(notices, 1);
    client.barrier("end");
  });
}

TEST_F(ControlPlane, TheNextGenerationBeginsWhenAllJoinAgain) {
  const ControlServer server(loopback(), {}, {.size = 2});
  as_ranks(2, [&](int rank) {
    ControlClient client(member(server, rank, 2));
    if (rank == 0)
      client.abort("once more");
    else
      expect_error<CommunicationError>([&] { client.barrier("x"); }, {"once more"});
    client.join();
    EXPECT_EQ(client.generation(), 2u);
    client.barrier("x");
  });
}

TEST_F(ControlPlane, WrongTokensAndTakenPortsAreErrors) {
  const ControlServer server(loopback(), {.token = "secret"}, {.size = 1});
  ControlClientOptions config = member(server, 0, 1);
  expect_error<CommunicationError>([&] { ControlClient client(config); }, {"wrong token", "NYALA_TOKEN"});
  config.security.token = "secret";
  EXPECT_EQ(ControlClient(config).generation(), 1u);
  expect_error<IoError>([&] { ControlServer second(server.address(), {.token = "secret"}, {.size = 1}); },
                        {"cannot listen on " + server.address().text(), "taken"});
}

/// What listens there, if anything, is said when the time is up, and not later.
TEST_F(ControlPlane, WhyItDoesNotComeIsSaidInTime) {
  const int silent = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in place = {};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof place;
  ASSERT_EQ(::bind(silent, reinterpret_cast<sockaddr*>(&place), size), 0);
  ASSERT_EQ(::getsockname(silent, reinterpret_cast<sockaddr*>(&place), &size), 0);
  const HostPort address{"127.0.0.1", ntohs(place.sin_port)};
  const ControlClientOptions config{.address = address, .rank = 0, .size = 1, .timeout = 500ms};
  const auto begin = Clock::now();
  expect_error<TimeoutError>([&] { ControlClient client(config); },
                             {address.text(), "did not come in 0.5 s", "Connection refused"});
  ASSERT_EQ(::listen(silent, 5), 0);
  expect_error<TimeoutError>([&] { ControlClient client(config); },
                             {address.text(), "did not come in 0.5 s", "nothing comes back"});
  EXPECT_LT(Clock::now() - begin, 5s);
  ::close(silent);
}

/// A cluster that others can reach says who may take part.
TEST_F(ControlPlane, OffTheLoopbackSomethingProtectsIt) {
  const HostPort outside{"10.0.0.1", 7777};
  expect_error([&] { check_control_security(outside, {}); },
               {"10.0.0.1:7777", "NYALA_TOKEN", "NYALA_INSECURE=1"});
  check_control_security(outside, {.token = "t"});
  check_control_security(outside, {.insecure = true});
  check_control_security({"::1", 1}, {});
  expect_error([&] { check_control_security(outside, {.ca_file = "a", .key_file = "k"}); },
               {"TLS needs three files", "received 2"});
  const ControlSecurity read = control_security_of({{"NYALA_TOKEN", "t"},
                                                    {"NYALA_TLS_CA", "a"},
                                                    {"NYALA_TLS_CERT", "c"},
                                                    {"NYALA_TLS_KEY", "k"},
                                                    {"NYALA_INSECURE", "1"}});
  EXPECT_TRUE(read.token == "t" && read.certificate_file == "c" && read.key_file == "k" && read.insecure);
  expect_error([] { control_security_of({{"NYALA_INSECURE", "yes"}}); }, {"NYALA_INSECURE: expected 0 or 1"});
  expect_error<IoError>(
      [] {
        ControlServer server({"127.0.0.1", 0},
                             {.ca_file = "/none/ca", .certificate_file = "/none/c", .key_file = "/none/k"},
                             {.size = 1});
      },
      {"cannot read the authority's certificate '/none/ca'"});
}

/// Certificates are made by the openssl command.
TEST_F(ControlPlane, CertificatesSayWhoTakesPart) {
  const Certificates certificates(testing::TempDir());
  if (!certificates.are_there()) GTEST_SKIP() << "the openssl command is not there";
  const ControlSecurity tls{.ca_file = certificates.path("ca.pem"),
                            .certificate_file = certificates.path("own.pem"),
                            .key_file = certificates.path("own.key")};
  const ControlServer server(loopback(), tls, {.size = 1});
  ControlClientOptions config = member(server, 0, 1);
  config.timeout = 300ms;
  expect_error<TimeoutError>([&] { ControlClient client(config); }, {server.address().text()});
  config.security = {
      .ca_file = certificates.path("other.pem"),  // which has not signed the server's certificate
      .certificate_file = certificates.path("own.pem"),
      .key_file = certificates.path("own.key")};
  expect_error<TimeoutError>([&] { ControlClient client(config); },
                             {server.address().text(), "certificate verify failed"});
  config.security = tls;
  config.timeout = 10s;
  EXPECT_EQ(ControlClient(config).generation(), 1u);
}

/// Real processes: one of three is killed, and the others hear of it long before their timeout.
TEST_F(ControlPlane, AKilledProcessIsNoticed) {
  const ControlServer server(loopback(), {}, {.size = 3, .heartbeat = 500ms});
  const std::string folder = testing::TempDir() + "/control_" + std::to_string(::getpid());
  std::filesystem::create_directories(folder);
  std::vector<std::unique_ptr<ChildProcess>> processes;
  const auto path = [&](int rank) { return folder + "/" + std::to_string(rank); };
  for (int rank = 0; rank < 3; ++rank)
    processes.push_back(std::make_unique<ChildProcess>(
        "control_member", std::vector<std::string>{std::to_string(server.address().port),
                                                   std::to_string(rank), "3", path(rank)}));
  const auto all_joined = [&] {
    for (int rank = 0; rank < 3; ++rank)
      if (!std::filesystem::exists(path(rank))) return false;
    return true;
  };
  for (int i = 0; i < 3000 && !all_joined(); ++i) std::this_thread::sleep_for(10ms);
  ASSERT_TRUE(all_joined());
  std::this_thread::sleep_for(200ms);
  const auto begin = Clock::now();
  EXPECT_TRUE(processes[1]->kill());
  EXPECT_EQ(processes[0]->wait(), 3);
  EXPECT_EQ(processes[2]->wait(), 3);
  EXPECT_LT(Clock::now() - begin, 10s);
  std::cout << "noticed in " << std::chrono::duration<double>(Clock::now() - begin).count() << " s\n";
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace nyala::detail
