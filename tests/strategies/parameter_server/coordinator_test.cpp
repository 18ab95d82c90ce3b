#include <chrono>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/strategies/parameter_server/coordinator.h>
#include <nyala/strategies/parameter_server/parameter_transport.h>

namespace nyala::detail {
namespace coordinator_test {

using testing::HasSubstr;

constexpr std::chrono::seconds kTimeout{20};

std::unique_ptr<ParameterCall> start(ParameterConnection& way, const CoordinatorRequest& request) {
  return way.start(
      encode(request), {}, [](const std::string&, uint64_t) { return ReceivedBytes{}; }, kTimeout);
}

CoordinatorReply answer(ParameterConnection& way, const CoordinatorRequest& request) {
  return decode_coordinator_reply(start(way, request)->wait());
}

}  // namespace coordinator_test

using namespace coordinator_test;

// A process that was killed: its calls end one after the other, in any order.
TEST(Coordinator, ALostWorkerThatStillAsksGetsNoWork) {
  using Call = CoordinatorCall;
  for (const bool synchronous : {false, true}) {
    const auto coordinator = std::make_shared<Coordinator>(
        CoordinatorOptions{.lease = std::chrono::hours(1), .is_synchronous = synchronous});
    const auto way = connect_locally(coordinator);
    auto watch = start(*way, {.call = Call::watch, .worker = 5});
    auto other_watch = start(*way, {.call = Call::watch, .worker = 6});
    coordinator->begin_training(1, "facts", "greeting");
    for (const uint64_t worker : {5u, 6u})
      EXPECT_EQ(
          answer(*way, {.call = Call::join, .worker = worker, .training = 1, .id = 1, .text = "facts"}).text,
          "greeting");
    const auto waiting = start(*way, {.call = Call::next, .worker = 5, .training = 1});
    watch.reset();
    if (synchronous)
      coordinator->begin_step(0, 0, 0);
    else
      coordinator->begin_epoch(0, 1, 0);
    EXPECT_THAT(decode_coordinator_reply(waiting->wait()).text, HasSubstr("has lost this worker"));
    const CoordinatorReply given = answer(*way, {.call = Call::next, .worker = 6, .training = 1});
    EXPECT_EQ(given.kind, CoordinatorReply::Kind::batch);
    if (synchronous) EXPECT_EQ(given.batch.piece.pieces, 1);
  }
}

}  // namespace nyala::detail
