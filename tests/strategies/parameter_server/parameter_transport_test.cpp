// The rules of parameter_transport.h, over every transport.
#include <nyala/strategies/parameter_server/parameter_transport.h>

#include <gtest/gtest.h>

#include <nyala/tests/strategies/parameter_server/told_service.h>
#include <nyala/tests/support/error_text.h>

namespace nyala::parameter_transport_test {
namespace {

using detail::AnswerPlace;
using detail::kParameterChunk;
using detail::ParameterCall;
using detail::ParameterConnection;
using detail::ReceivedBytes;
using detail::SentBytes;

struct LocalWay {
  static bool is_built() { return true; }
  std::shared_ptr<ToldService> service = std::make_shared<ToldService>();
  std::unique_ptr<ParameterConnection> connection = detail::connect_locally(service);
};

struct GrpcWay {
  static bool is_built() { return detail::grpc_is_built(); }
  std::shared_ptr<ToldService> service = std::make_shared<ToldService>();
  std::unique_ptr<detail::ParameterListener> listener =
      detail::listen_parameters({"127.0.0.1", 0}, {.token = "secret"}, *service);
  std::unique_ptr<ParameterConnection> connection =
      detail::connect_parameters({"127.0.0.1", listener->port()}, {.token = "secret"});
};

template <class Way>
class ParameterTransport : public testing::Test {
 protected:
  void SetUp() override {
    if (!Way::is_built()) GTEST_SKIP() << "this build has no gRPC";
    way_ = std::make_unique<Way>();
  }
  ParameterConnection& connection() { return *way_->connection; }
  ToldService& service() { return *way_->service; }
  Told& told() { return way_->service->told; }

  /// Places in `bytes`, which gets the size of the answer's payload.
  static AnswerPlace into(Bytes& bytes) {
    return [&bytes](const std::string&, uint64_t size) {
      bytes.resize(size);
      return ReceivedBytes{bytes};
    };
  }
  static ReceivedBytes nowhere(const std::string&, uint64_t) { return {}; }
  std::unique_ptr<ParameterCall> start(const std::string& header, const Bytes& payload = {},
                                       AnswerPlace place = nowhere, std::chrono::milliseconds timeout = 20s) {
    return connection().start(header, {payload}, std::move(place), timeout);
  }
  void expect_echo(const Bytes& payload) {
    Bytes back;
    EXPECT_EQ(start("echo", payload, into(back))->wait(), "answer to echo");
    EXPECT_TRUE(back == payload) << payload.size() << " bytes, " << back.size() << " back";
  }
  void expect_all_gone() {
    EXPECT_TRUE(soon([&] { return told().alive == 0; })) << told().alive << " receivers are alive";
    EXPECT_FALSE(told().overlapped);
  }

  std::unique_ptr<Way> way_;
};

using Ways = testing::Types<LocalWay, GrpcWay>;
TYPED_TEST_SUITE(ParameterTransport, Ways);

TYPED_TEST(ParameterTransport, PayloadsOfAllSizesGoBothWays) {
  for (const uint64_t size : {uint64_t{0}, uint64_t{1}, kParameterChunk - 1, kParameterChunk,
                              kParameterChunk + 1, 3 * kParameterChunk, uint64_t{25'000'003}})
    this->expect_echo(pattern(size));
  EXPECT_EQ(this->told().begun, 7);
  EXPECT_EQ(this->told().cancelled, 0);
  this->expect_all_gone();
}

TYPED_TEST(ParameterTransport, SpansOfOddSizesArePutTogether) {
  const Bytes whole = pattern(2 * kParameterChunk + 12345);
  SentBytes pieces;
  size_t begin = 0;
  for (size_t size = 0; begin < whole.size(); size = (size * 7 + 1) % 70001) {
    pieces.push_back(std::span(whole).subspan(begin, std::min(size, whole.size() - begin)));
    begin += pieces.back().size();
  }
  Bytes back(whole.size());
  const auto place = [&](const std::string&, uint64_t size) {
    ReceivedBytes places;
    size_t at = 0;
    for (size_t part = 0; at < size; part = (part * 5 + 3) % 60013) {
      places.push_back(std::span(back).subspan(at, std::min(part, back.size() - at)));
      at += places.back().size();
    }
    return places;
  };
  this->connection().start("echo", pieces, place, 20s)->wait();
  EXPECT_TRUE(back == whole);
}

TYPED_TEST(ParameterTransport, SizesThatDoNotAddUpAreErrors) {
  Bytes small(10);
  expect_error<CommunicationError>(
      [&] {
        this->start("answer 11", {}, [&](const std::string&, uint64_t) { return ReceivedBytes{small}; })
            ->wait();
      },
      {"10", "11"});
  expect_error<CommunicationError>([&] { this->start("wrong places", pattern(100))->wait(); },
                                   {"50 bytes", "100"});
  expect_error<CommunicationError>([&] { this->start("no fill")->wait(); }, {"nothing fills"});
  expect_error<CommunicationError>([&] { this->start("long header")->wait(); }, {"4194305", "4194304"});
  expect_error<InvalidArgumentError>([&] { this->start(std::string(detail::kMaxParameterHeader + 1, 'x')); },
                                     {"4194305", "4194304"});
  this->expect_echo(pattern(5));
  this->expect_all_gone();
}

TYPED_TEST(ParameterTransport, HeadersMayBeLong) {
  const std::string header(detail::kMaxParameterHeader - 10, 'x');
  EXPECT_EQ(this->start(header)->wait(), "answer to " + header);
}

TYPED_TEST(ParameterTransport, WhatTheServiceThrowsIsSaid) {
  for (const uint64_t size : {uint64_t{0}, uint64_t{100}, 5 * kParameterChunk}) {
    const Bytes payload = pattern(size);
    expect_error<CommunicationError>([&] { this->start("refuse begin", payload)->wait(); },
                                     {"parameter server ", "nothing begins"});
    expect_error<CommunicationError>([&] { this->start("refuse place", payload)->wait(); },
                                     {"no place for " + std::to_string(size)});
    expect_error<CommunicationError>([&] { this->start("refuse finish", payload)->wait(); },
                                     {"finished badly"});
    expect_error<CommunicationError>([&] { this->start("refuse late", payload)->wait(); }, {"refused late"});
  }
  Bytes back;
  const Bytes payload = pattern(3 * kParameterChunk);
  expect_error<CommunicationError>([&] { this->start("fill throws", payload, this->into(back))->wait(); },
                                   {"nothing to fill with"});
  this->expect_all_gone();
  EXPECT_EQ(this->told().cancelled, 0);
}

TYPED_TEST(ParameterTransport, WhatThePlaceThrowsIsWhatWaitThrows) {
  const auto place = [](const std::string& header, uint64_t bytes) -> ReceivedBytes {
    throw ShapeError(header + ", " + std::to_string(bytes));
  };
  expect_error<ShapeError>([&] { this->start("answer 5000000", {}, place)->wait(); },
                           {"answer to answer 5000000, 5000000"});
  this->expect_all_gone();
}

TYPED_TEST(ParameterTransport, OnlyTheFirstAnswerCounts) {
  Bytes back;
  EXPECT_EQ(this->start("twice", pattern(10), this->into(back))->wait(), "answer to twice");
  EXPECT_EQ(back, pattern(10));
}

TYPED_TEST(ParameterTransport, AnswersMayComeLaterFromAnotherThread) {
  std::vector<Bytes> backs(20), payloads;
  for (size_t i = 0; i < 20; ++i) payloads.push_back(pattern(i * 100'000));
  std::vector<std::unique_ptr<ParameterCall>> calls;
  for (size_t i = 0; i < 20; ++i) calls.push_back(this->start("late", payloads[i], this->into(backs[i])));
  for (size_t i = 20; i-- > 0;) {
    EXPECT_EQ(calls[i]->wait(), "answer to late");
    EXPECT_EQ(backs[i], payloads[i]);
  }
  this->expect_all_gone();
}

TYPED_TEST(ParameterTransport, ACallThatIsNotAnsweredTimesOut) {
  const auto begin = std::chrono::steady_clock::now();
  const Bytes payload = pattern(2 * kParameterChunk);
  expect_error<TimeoutError>([&] { this->start("never", payload, this->nowhere, 300ms)->wait(); },
                             {"no answer in 0.3 s"});
  const auto time = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(time, 290ms);
  EXPECT_LT(time, 5s);
  EXPECT_TRUE(soon([&] { return this->told().cancelled == 1; }));
  for (const auto& answer : this->service().take_kept()) answer({.header = "too late"});
  this->expect_all_gone();
  this->expect_echo(pattern(10));
}

TYPED_TEST(ParameterTransport, ACallThatNobodyWaitsForEnds) {
  const Bytes payload = pattern(2 * kParameterChunk);
  Bytes back;
  this->start("never", payload);
  this->start("answer 20000000", payload, this->into(back));
  EXPECT_TRUE(soon([&] { return this->told().alive == 0; }));
  this->service().take_kept();
}

TYPED_TEST(ParameterTransport, CancelEndsCallsThatWaitAndLaterOnes) {
  std::vector<std::thread> threads;
  std::atomic<int> ended{0};
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      expect_error<CommunicationError>([&] { this->start("never")->wait(); }, {"is closed"});
      ++ended;
    });
  EXPECT_TRUE(soon([&] { return this->told().finished == 4; }));
  this->connection().cancel();
  EXPECT_TRUE(soon([&] { return ended == 4; }));
  for (std::thread& thread : threads) thread.join();
  expect_error<CommunicationError>([&] { this->start("echo")->wait(); }, {"is closed"});
  EXPECT_TRUE(soon([&] { return this->told().cancelled == 4; }));
  this->service().take_kept();
  this->expect_all_gone();
}

TYPED_TEST(ParameterTransport, ManyThreadsMayCallAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int thread = 0; thread < 8; ++thread)
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 50; ++i) {
        const Bytes payload = pattern(static_cast<uint64_t>((thread * 50 + i) * 7919 % 2'500'000));
        Bytes back;
        this->start(i % 5 == 0 ? "late" : "echo", payload, this->into(back))->wait();
        if (back != payload) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(this->told().finished, 400);
  this->expect_all_gone();
}

}  // namespace
}  // namespace nyala::parameter_transport_test
