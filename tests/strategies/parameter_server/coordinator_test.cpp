#include <chrono>
#include <future>
#include <map>
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

// A server was started again while the last word of the step came: what is trained then is another one.
TEST(Coordinator, AStepThatIsGivenUpIsNeverDone) {
  using Call = CoordinatorCall;
  const auto coordinator = std::make_shared<Coordinator>(CoordinatorOptions{.is_synchronous = true});
  const auto way = connect_locally(coordinator);
  const auto watch = start(*way, {.call = Call::watch, .worker = 5});
  coordinator->begin_training(1, "facts", "greeting");
  answer(*way, {.call = Call::join, .worker = 5, .training = 1, .id = 1, .text = "facts"});
  const auto next = [&] { return answer(*way, {.call = Call::next, .worker = 5, .training = 1}).batch; };
  const auto tell = [&](Call call, const DispensedBatch& batch) {
    answer(*way, {.call = call, .worker = 5, .training = 1, .id = batch.id, .piece = batch.piece});
  };
  for (const Call word : {Call::done, Call::ended}) {
    coordinator->begin_step(0, 7, 7);
    tell(word, next());
    coordinator->begin_step(0, 3, 3);
    EXPECT_EQ(coordinator->wait(std::chrono::milliseconds(1)).kind, CoordinatorEvent::Kind::nothing);
    tell(Call::done, next());
    const CoordinatorEvent event = coordinator->wait(kTimeout);
    EXPECT_EQ(event.kind, CoordinatorEvent::Kind::step_done);
    EXPECT_EQ(event.batch.batch, 3);
  }
}

// Who reads what fit has left is waited for: not who is lost, nor who has come to the next fit already.
TEST(Coordinator, WaitsUntilWorkersHaveWhatTrainingEndedWith) {
  using Call = CoordinatorCall;
  const auto coordinator = std::make_shared<Coordinator>(CoordinatorOptions{.lease = kTimeout});
  const auto way = connect_locally(coordinator);
  std::map<uint64_t, std::unique_ptr<ParameterCall>> watches;
  for (const uint64_t worker : {5u, 6u, 7u})
    watches[worker] = start(*way, {.call = Call::watch, .worker = worker});
  coordinator->begin_training(1, "facts", "greeting");
  for (const uint64_t worker : {5u, 6u, 7u})
    answer(*way, {.call = Call::join, .worker = worker, .training = 1, .id = 1, .text = "facts"});
  coordinator->wait_until_left();  // of a training that goes on nobody has
  coordinator->end_training("result");
  const auto in_next =
      start(*way, {.call = Call::join, .worker = 5, .training = 2, .id = 1, .text = "facts"});
  auto all_have = std::async(std::launch::async, [&] { coordinator->wait_until_left(); });
  answer(*way, {.call = Call::left, .worker = 6, .training = 1});
  EXPECT_EQ(all_have.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  watches.erase(7);
  start(*way, {.call = Call::join, .worker = 7, .training = 1, .id = 1, .text = "facts"})->wait();
  EXPECT_EQ(all_have.wait_for(kTimeout / 2), std::future_status::ready);
  coordinator->end("over");
}

// Two exchanges may come to a server in another order than word of them comes to the chief: whose word is
// last may lack what the other one did.
TEST(Coordinator, WithABoundAWorkerPullsWhereOthersWereDoneBesideIt) {
  using Call = CoordinatorCall;
  const auto coordinator = std::make_shared<Coordinator>(CoordinatorOptions{.staleness = 2});
  const auto way = connect_locally(coordinator);
  const auto one = start(*way, {.call = Call::watch, .worker = 5});
  const auto other = start(*way, {.call = Call::watch, .worker = 6});
  coordinator->begin_training(1, "facts", "greeting");
  for (const uint64_t worker : {5u, 6u})
    answer(*way, {.call = Call::join, .worker = worker, .training = 1, .id = 1, .text = "facts"});
  coordinator->begin_epoch(0, 10, 0);
  const auto next = [&](uint64_t worker) {
    return answer(*way, {.call = Call::next, .worker = worker, .training = 1}).batch;
  };
  const auto done = [&](uint64_t worker, const DispensedBatch& batch) {
    answer(*way, {.call = Call::done, .worker = worker, .training = 1, .id = batch.id});
  };
  const DispensedBatch first = next(5), second = next(6);
  EXPECT_TRUE(first.pull_first && second.pull_first);
  done(5, first);
  done(6, second);
  const DispensedBatch third = next(6);
  EXPECT_TRUE(third.pull_first);
  done(6, third);
  const DispensedBatch fourth = next(6);  // nobody else did anything
  EXPECT_FALSE(fourth.pull_first);
  EXPECT_TRUE(next(5).pull_first);
  coordinator->end("over");
}

}  // namespace nyala::detail
