// What only a network has: addresses, tokens, certificates, servers that end, and clients that are none of
// ours.
#ifdef NYALA_TEST_GRPC

#include <nyala/strategies/parameter_server/parameter_transport.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <nyala/strategies/parameter_server/parameter_message.h>
#include <nyala/tests/strategies/parameter_server/told_service.h>
#include <nyala/tests/support/certificates.h>
#include <nyala/tests/support/child_process.h>
#include <nyala/tests/support/error_text.h>

namespace nyala::parameter_transport_test {
namespace {

using detail::AnswerPlace;
using detail::ControlSecurity;
using detail::encode;
using detail::kParameterChunk;
using detail::ParameterCallHead;
using detail::ParameterConnection;
using detail::ParameterListener;
using detail::ReceivedBytes;
using detail::SentBytes;

class GrpcParameterTransport : public testing::Test {
 protected:
  std::unique_ptr<ParameterConnection> connect(const ControlSecurity& security = {.token = "secret"}) const {
    return detail::connect_parameters({"127.0.0.1", port_}, security);
  }
  void listen(const ControlSecurity& security = {.token = "secret"}) {
    listener_ = detail::listen_parameters({"127.0.0.1", port_}, security, service_);
    port_ = listener_->port();
  }
  static std::string call(ParameterConnection& connection, const std::string& header,
                          const Bytes& payload = {}, std::chrono::milliseconds timeout = 20s) {
    Bytes back;
    const auto place = [&](const std::string&, uint64_t size) {
      back.resize(size);
      return ReceivedBytes{back};
    };
    return connection.start(header, {payload}, place, timeout)->wait();
  }
  void expect_all_gone() {
    EXPECT_TRUE(soon([&] { return service_.told.alive == 0; })) << service_.told.alive << " are alive";
  }

  ToldService service_;
  int port_ = 0;
  std::unique_ptr<ParameterListener> listener_;
};

/// A client that says what it likes.
class RawCall {
 public:
  RawCall(const std::shared_ptr<grpc::Channel>& channel, const char* method = detail::kParameterMethod)
      : stub_(channel) {
    context_.set_deadline(std::chrono::system_clock::now() + 10s);
    stream_ = stub_.PrepareCall(&context_, method, &queue_);
    stream_->StartCall(tag());
    next();
  }
  ~RawCall() {
    context_.TryCancel();
    if (stream_) {
      grpc::Status status;
      stream_->Finish(&status, tag());
      next();
    }
    queue_.Shutdown();
    for (void* got = nullptr; queue_.Next(&got, &ok_);) {
    }
  }
  bool write(const std::string& bytes) {
    const grpc::Slice slice(bytes);
    stream_->Write(grpc::ByteBuffer(&slice, 1), tag());
    return next();
  }
  bool writes_done() {
    stream_->WritesDone(tag());
    return next();
  }
  /// None where there is no more.
  std::optional<std::string> read() {
    grpc::ByteBuffer buffer;
    stream_->Read(&buffer, tag());
    if (!next()) return std::nullopt;
    std::vector<grpc::Slice> slices;
    EXPECT_TRUE(buffer.Dump(&slices).ok());
    std::string bytes;
    for (const grpc::Slice& slice : slices)
      bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
    return bytes;
  }
  grpc::Status finish() {
    grpc::Status status;
    stream_->Finish(&status, tag());
    next();
    stream_.reset();
    return status;
  }

 private:
  static void* tag() { return reinterpret_cast<void*>(1); }
  bool next() {
    void* got = nullptr;
    return queue_.Next(&got, &ok_) && ok_;
  }

  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
  bool ok_ = false;
};

std::shared_ptr<grpc::Channel> raw_channel(int port) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(-1);
  return grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials(),
                                   arguments);
}

std::string refusal(RawCall& call) {
  const std::optional<std::string> answer = call.read();
  if (!answer) return "status " + call.finish().error_message();
  detail::ByteReader reader({std::as_bytes(std::span(*answer))});
  const detail::ParameterAnswerHead head = detail::decode_parameter_answer(reader);
  return (head.is_refused ? "refused: " : "answered: ") + head.header;
}

void expect_part(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' in: " << text;
}

TEST_F(GrpcParameterTransport, ATokenIsAskedFor) {
  listen();
  EXPECT_EQ(call(*connect(), "echo"), "answer to echo");
  for (const char* token : {"", "secre", "secret2", "Secret"})
    expect_error<CommunicationError>([&] { call(*connect({.token = token}), "echo", pattern(3'000'000)); },
                                     {"127.0.0.1:" + std::to_string(port_), "wrong token"});
  EXPECT_EQ(service_.told.begun, 1);
  expect_error<InvalidArgumentError>(
      [&] {
        detail::listen_parameters({"0.0.0.0", 0}, {}, service_);
      },
      {"NYALA_TOKEN"});
  expect_error<InvalidArgumentError>(
      [&] {
        detail::connect_parameters({"192.0.2.1", 5}, {});
      },
      {"NYALA_TOKEN"});
}

TEST_F(GrpcParameterTransport, CertificatesSayWhoTakesPart) {
  const Certificates certificates(testing::TempDir());
  if (!certificates.are_there()) GTEST_SKIP() << "the openssl command is not there";
  const ControlSecurity tls{.ca_file = certificates.path("ca.pem"),
                            .certificate_file = certificates.path("own.pem"),
                            .key_file = certificates.path("own.key")};
  ControlSecurity other = tls;
  other.ca_file = certificates.path("other.pem");
  listen(tls);
  EXPECT_EQ(call(*connect(tls), "echo", pattern(20'000)), "answer to echo");
  expect_error<PeerLostError>([&] { call(*connect(other), "echo", {}, 500ms); },
                              {"127.0.0.1:" + std::to_string(port_), "certificate verify failed"});
  expect_error<PeerLostError>([&] { call(*connect({}), "echo", {}, 500ms); }, {"127.0.0.1"});
}

TEST_F(GrpcParameterTransport, APortThatIsTakenIsAnError) {
  listen();
  expect_error<IoError>(
      [&] {
        detail::listen_parameters({"127.0.0.1", port_}, {.token = "secret"}, service_);
      },
      {"parameter server", "127.0.0.1:" + std::to_string(port_), "is the port taken"});
}

TEST_F(GrpcParameterTransport, NobodyThereIsAPeerThatIsLost) {
  listen();
  listener_.reset();
  const auto connection = connect();
  const auto begin = std::chrono::steady_clock::now();
  expect_error<PeerLostError>([&] { call(*connection, "echo", {}, 300ms); },
                              {"127.0.0.1:" + std::to_string(port_), "nobody was there in 0.3 s", "refused"});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 3s);
}

TEST_F(GrpcParameterTransport, ACallWaitsForAServerThatComes) {
  listen();
  listener_.reset();
  const auto connection = connect();
  const Bytes payload = pattern(2'000'000);
  const auto waiting = connection->start("refuse finish", {payload}, nullptr, 20s);
  std::this_thread::sleep_for(300ms);
  listen();
  expect_error<CommunicationError>([&] { waiting->wait(); }, {"finished badly"});
}

TEST_F(GrpcParameterTransport, AConnectionOutlivesItsServer) {
  listen();
  const auto connection = connect();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(call(*connection, "echo", pattern(3'000'000)), "answer to echo");
    listener_.reset();
    expect_all_gone();
    listen();
  }
}

TEST_F(GrpcParameterTransport, AListenerThatEndsCancelsCallsThatWait) {
  listen();
  const auto connection = connect();
  std::vector<std::thread> threads;
  std::atomic<int> ended{0};
  for (int i = 0; i < 5; ++i)
    threads.emplace_back([&] {
      expect_error<PeerLostError>([&] { call(*connection, "never", pattern(2'000'000)); },
                                  {"127.0.0.1:" + std::to_string(port_)});
      ++ended;
    });
  ASSERT_TRUE(soon([&] { return service_.told.finished == 5; }));
  RawCall unread(raw_channel(port_));  // an answer that nobody reads
  ASSERT_TRUE(unread.write(encode(ParameterCallHead{.token = "secret", .header = "answer 20000000"})));
  ASSERT_TRUE(soon([&] { return service_.told.filled > 0; }));
  RawCall half(raw_channel(port_));  // a payload that never comes
  ASSERT_TRUE(
      half.write(encode(ParameterCallHead{.token = "secret", .header = "echo", .bytes = kParameterChunk}) +
                 std::string(kParameterChunk, 'x')));
  RawCall part(raw_channel(port_));
  ASSERT_TRUE(part.write(
      encode(ParameterCallHead{.token = "secret", .header = "echo", .bytes = 2 * kParameterChunk}) +
      std::string(kParameterChunk, 'x')));
  ASSERT_TRUE(soon([&] { return service_.told.begun == 8; }));
  const auto begin = std::chrono::steady_clock::now();
  listener_.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 4s);
  EXPECT_EQ(service_.told.alive, 0);
  EXPECT_EQ(service_.told.cancelled, 6);
  EXPECT_TRUE(soon([&] { return ended == 5; }));
  for (std::thread& thread : threads) thread.join();
  for (const auto& answer : service_.take_kept()) answer({.header = "too late"});
}

TEST_F(GrpcParameterTransport, AKilledServerIsAPeerThatIsLost) {
  const std::string file = testing::TempDir() + "/parameter_service_" + std::to_string(::getpid());
  for (int round = 0; round < 4; ++round) {
    std::filesystem::remove(file);
    ChildProcess server("parameter_service", {file});
    ASSERT_TRUE(soon([&] { return std::ifstream(file) >> port_ && port_ > 0; }));
    const auto connection = connect();
    EXPECT_EQ(call(*connection, "echo"), "answer to echo");
    const bool waits = round % 2 == 0;  // for an answer, else it is receiving
    const auto begin = std::chrono::steady_clock::now();
    std::thread killer([&] {
      std::this_thread::sleep_for(100ms);
      server.kill();
    });
    expect_error<PeerLostError>(
        [&] {
          for (;;) call(*connection, waits ? "never" : "answer 30000000");
        },
        {"127.0.0.1:" + std::to_string(port_)});
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 25s);
    killer.join();
  }
  std::filesystem::remove(file);
}

TEST_F(GrpcParameterTransport, GarbageIsRefusedAndTheServerLives) {
  listen();
  const auto channel = raw_channel(port_);
  const std::string chunk(kParameterChunk, 'x');
  const auto head = [](const std::string& header, uint64_t bytes) {
    return encode(ParameterCallHead{.token = "secret", .header = header, .bytes = bytes});
  };
  {
    RawCall other(channel, "/nyala.ParameterServer/Other");
    EXPECT_FALSE(other.read());
    EXPECT_EQ(other.finish().error_code(), grpc::StatusCode::UNIMPLEMENTED);
  }
  std::string other_form = head("echo", 0);
  other_form[1] = 'z';
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{""}, "refused: no message"},
      {{"garbage"}, "one version of Nyala"},
      {{other_form}, "one version of Nyala"},
      {{head("echo", 0) + "more"}, "a chunk of 4 bytes where 0"},
      {{head("echo", 100) + "few"}, "a chunk of 3 bytes where 100"},
      {{head("echo", 3) + "four"}, "a chunk of 4 bytes where 3"},
      {{head("echo", 2 * kParameterChunk) + chunk, chunk + "x"}, "a chunk of 1048577 bytes where 1048576"},
      {{head("echo", kParameterChunk + 5) + chunk, "four"}, "a chunk of 4 bytes where 5"},
      {{head("echo", ~uint64_t{0}) + chunk}, "far too many bytes"},
      {{head(std::string(detail::kMaxParameterHeader + 1, 'x'), 0)}, "a text has 4194305 bytes"},
      {{head("echo", 5) + "12345", "more than was said"}, "answered: answer to echo"},
  };
  for (const auto& [messages, part] : cases) {
    RawCall call(channel);
    for (const std::string& message : messages) call.write(message);
    expect_part(refusal(call), part);
  }
  {
    RawCall early(channel);  // fewer bytes than it says
    early.write(head("echo", 2 * kParameterChunk) + chunk);
    early.writes_done();
    expect_part(refusal(early), "broke off");
  }
  {
    RawCall none(channel);
    none.writes_done();
    expect_part(refusal(none), "broke off");
  }
  {
    RawCall huge(channel);  // more than any message may have
    huge.write(std::string(2 * detail::kMaxParameterMessage, 'x'));
    EXPECT_FALSE(huge.finish().ok());
  }
  {
    RawCall gone(channel);  // it goes in the middle
    gone.write(head("echo", 2 * kParameterChunk) + chunk);
  }
  EXPECT_EQ(call(*connect(), "echo", pattern(3'000'000)), "answer to echo");
  expect_all_gone();
  EXPECT_EQ(service_.told.finished, 2);
}

TEST_F(GrpcParameterTransport, BytesThatAreNoHttpDoNotEndTheServer) {
  listen();
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(port_));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::connect(socket, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  const std::string garbage(100'000, 'x');
  EXPECT_GT(::send(socket, garbage.data(), garbage.size(), MSG_NOSIGNAL), 0);
  ::close(socket);
  EXPECT_EQ(call(*connect(), "echo"), "answer to echo");
}

/// They hold the threads of neither the server nor, on the same connection, of each other.
TEST_F(GrpcParameterTransport, ReadersThatDoNotReadStopNobody) {
  listen();
  const auto channel = raw_channel(port_);
  std::vector<std::unique_ptr<RawCall>> unread;
  for (int i = 0; i < 8; ++i) {
    unread.push_back(std::make_unique<RawCall>(channel));
    ASSERT_TRUE(
        unread.back()->write(encode(ParameterCallHead{.token = "secret", .header = "answer 20000000"})));
  }
  ASSERT_TRUE(soon([&] { return service_.told.filled >= 8; }));
  RawCall other(channel);
  other.write(encode(ParameterCallHead{.token = "secret", .header = "echo"}));
  expect_part(refusal(other), "answered: answer to echo");
  for (int i = 0; i < 20; ++i) EXPECT_EQ(call(*connect(), "echo", pattern(3'000'000), 5s), "answer to echo");
  unread.clear();
  expect_all_gone();
}

/// Everything goes to and comes from one piece of memory.
class EndlessService final : public detail::ParameterService {
 public:
  std::shared_ptr<detail::ParameterReceiver> begin(std::string) override {
    return std::make_shared<Receiver>();
  }

 private:
  class Receiver final : public detail::ParameterReceiver {
   public:
    ReceivedBytes place(uint64_t bytes) override {
      bytes_ = bytes;
      ReceivedBytes places;
      for (uint64_t left = bytes; left > 0; left -= places.back().size())
        places.push_back(std::span(memory_).first(std::min<uint64_t>(left, memory_.size())));
      return places;
    }
    void finish(std::function<void(detail::ParameterAnswer)> answer,
                std::function<void(const std::string&)>) override {
      answer({.header = std::to_string(bytes_) + " " + std::to_string(static_cast<int>(memory_[0])),
              .bytes = bytes_,
              .fill = [expected = uint64_t{0}](uint64_t offset, std::span<std::byte> chunk) mutable {
                if (std::exchange(expected, offset + chunk.size()) != offset) throw InternalError("order");
                chunk[0] = byte_at(offset);
              }});
    }

   private:
    uint64_t bytes_ = 0;
    Bytes memory_ = Bytes(16 << 20);
  };
};

TEST_F(GrpcParameterTransport, SlowPayloadsOfMoreThanFourGigabytesArriveWhole) {
  EndlessService service;
  const auto listener = detail::listen_parameters({"127.0.0.1", 0}, {}, service);
  const auto connection = detail::connect_parameters({"127.0.0.1", listener->port()}, {});
  Bytes memory(16 << 20), last(1);
  const uint64_t pieces = 280, bytes = pieces * memory.size() + 1;
  SentBytes payload(pieces, memory);
  const Bytes end(1, std::byte{77});
  payload.push_back(end);
  const auto place = [&](const std::string&, uint64_t size) {
    EXPECT_EQ(size, bytes);
    ReceivedBytes places(pieces, memory);
    places.push_back(last);
    return places;
  };
  EXPECT_EQ(connection->start("", payload, place, 300s)->wait(), std::to_string(bytes) + " 77");
  EXPECT_EQ(last[0], byte_at(bytes - 1));
}

}  // namespace
}  // namespace nyala::parameter_transport_test

#endif
