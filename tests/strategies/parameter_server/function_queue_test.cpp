#include <nyala/strategies/parameter_server/function_queue.h>

#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace nyala::detail {
namespace {

using Bytes = FunctionOutcome::Bytes;
using State = FunctionOutcome::State;

constexpr FunctionQueue::TimePoint kNow{};
constexpr std::chrono::seconds kLease{60};

Bytes bytes_of(const std::string& text) {
  const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

std::shared_ptr<FunctionOutcome> add(FunctionQueue& queue, const std::string& name = "step") {
  return queue.add(name, std::make_shared<const Bytes>());
}

/// 0: there is none.
uint64_t next(FunctionQueue& queue, uint64_t worker, FunctionQueue::TimePoint now = kNow) {
  const ScheduledFunction* const given = queue.next(worker, now);
  return given ? given->id : 0;
}

TEST(FunctionQueue, EachGoesToWhoAsksInOrder) {
  FunctionQueue queue;
  const auto first = add(queue), second = add(queue);
  EXPECT_EQ(next(queue, 7), 1u);
  EXPECT_EQ(next(queue, 8), 2u);
  EXPECT_EQ(next(queue, 9), 0u);
  EXPECT_FALSE(queue.is_idle());
  queue.returned(8, 2, bytes_of("two"));
  EXPECT_EQ(second->state(), State::returned);
  EXPECT_EQ(second->bytes(), bytes_of("two"));
  EXPECT_EQ(first->state(), State::pending);
  queue.returned(8, 1, bytes_of("not his"));
  EXPECT_EQ(first->state(), State::pending);
  queue.returned(7, 1, bytes_of("one"));
  EXPECT_EQ(first->bytes(), bytes_of("one"));
  EXPECT_TRUE(queue.is_idle());
  EXPECT_EQ(queue.mark(), 2u);
}

TEST(FunctionQueue, WhatALostWorkerHadGoesBeforeNewOnes) {
  FunctionQueue queue;
  for (int i = 0; i < 3; ++i) add(queue);
  EXPECT_EQ(next(queue, 7), 1u);
  EXPECT_EQ(next(queue, 8), 2u);
  EXPECT_TRUE(queue.lost(7));
  EXPECT_FALSE(queue.lost(7));
  EXPECT_EQ(next(queue, 9), 1u);
  queue.returned(7, 1, {});  // who is lost says nothing any more
  EXPECT_FALSE(queue.is_idle());
  EXPECT_EQ(next(queue, 8), 2u);  // asks without having ended it: begins it again
}

TEST(FunctionQueue, ASilentWorkerIsNotWaitedForAndMayStillBeFirst) {
  FunctionQueue queue;
  const auto outcome = add(queue);
  EXPECT_EQ(next(queue, 7), 1u);
  queue.expire(kNow + kLease / 2, kLease);
  EXPECT_EQ(next(queue, 8), 0u);
  queue.expire(kNow + kLease, kLease);
  queue.returned(7, 1, bytes_of("late"));
  EXPECT_EQ(outcome->bytes(), bytes_of("late"));
  EXPECT_TRUE(queue.is_idle());
  EXPECT_EQ(next(queue, 8), 0u);
}

TEST(FunctionQueue, TheFirstEndCounts) {
  FunctionQueue queue;
  const auto outcome = add(queue);
  next(queue, 7);
  queue.expire(kNow + kLease, kLease);
  EXPECT_EQ(next(queue, 8, kNow + kLease), 1u);
  queue.returned(8, 1, bytes_of("second worker"));
  EXPECT_TRUE(queue.is_idle()) << "nobody waits for the silent one";
  queue.threw(7, 1, bytes_of("late error"));
  EXPECT_EQ(outcome->bytes(), bytes_of("second worker"));
  EXPECT_FALSE(queue.has_error());
}

TEST(FunctionQueue, OneThatThrowsCancelsThoseThatWait) {
  FunctionQueue queue;
  const auto first = add(queue, "first"), second = add(queue), third = add(queue);
  next(queue, 7);
  next(queue, 8);
  queue.threw(7, 1, bytes_of("error 1"));
  EXPECT_EQ(first->state(), State::threw);
  EXPECT_EQ(second->state(), State::pending);
  EXPECT_EQ(third->state(), State::cancelled);
  EXPECT_EQ(third->text(), "function 'first', which was scheduled before it, threw");
  queue.threw(8, 2, bytes_of("error 2"));
  EXPECT_TRUE(queue.is_idle());
  EXPECT_EQ(queue.take_error(), bytes_of("error 1"));
  EXPECT_EQ(queue.take_error(), std::nullopt);
  add(queue);
  EXPECT_EQ(next(queue, 7), 4u);
}

TEST(FunctionQueue, WhatAServerHasLostIsDoneAgain) {
  FunctionQueue queue;
  queue.keep_returned(true);
  std::vector<std::shared_ptr<FunctionOutcome>> outcomes;
  for (int i = 0; i < 5; ++i) outcomes.push_back(add(queue));
  for (uint64_t id = 1; id <= 4; ++id) {
    next(queue, 7);
    queue.returned(7, id, bytes_of(std::to_string(id)));
    if (id == 2) queue.forget_until(queue.mark());
  }
  EXPECT_EQ(next(queue, 8), 5u);
  EXPECT_EQ(queue.again_since(2), 3);  // 3, 4 and the one that is carried out
  EXPECT_EQ(next(queue, 7), 3u);
  queue.returned(7, 3, bytes_of("again"));
  EXPECT_EQ(outcomes[2]->bytes(), bytes_of("3"));
  EXPECT_EQ(next(queue, 7), 4u);
  queue.returned(7, 4, {});
  queue.returned(8, 5, bytes_of("5"));  // maybe applied by a server before it was lost
  EXPECT_EQ(outcomes[4]->bytes(), bytes_of("5"));
  EXPECT_EQ(next(queue, 7), 5u);
  EXPECT_FALSE(queue.is_idle());
  queue.returned(7, 5, {});
  EXPECT_TRUE(queue.is_idle());
  EXPECT_EQ(queue.again_since(2), 4) << "the server is lost once more: 3, 4, and 5 twice";
  std::vector<uint64_t> again;
  while (const uint64_t id = next(queue, 7)) again.push_back(id), queue.returned(7, id, {});
  EXPECT_EQ(again, (std::vector<uint64_t>{3, 4, 5}));
}

TEST(FunctionQueue, AnErrorOfWhatIsDoneAgainIsAnError) {
  FunctionQueue queue;
  queue.keep_returned(true);
  const auto outcome = add(queue);
  next(queue, 7);
  queue.returned(7, 1, bytes_of("right"));
  queue.again_since(0);
  next(queue, 7);
  queue.threw(7, 1, bytes_of("no disk"));
  EXPECT_EQ(queue.take_error(), bytes_of("no disk"));
  EXPECT_EQ(outcome->bytes(), bytes_of("right"));
}

// Workers that come, go, fall silent and return at random: each function ends, and none before it was done.
TEST(FunctionQueue, EveryFunctionEndsWhateverHappens) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    FunctionQueue queue;
    queue.keep_returned(true);
    std::vector<std::shared_ptr<FunctionOutcome>> outcomes;
    std::map<uint64_t, uint64_t> has;  // by worker
    FunctionQueue::TimePoint now{};
    std::set<uint64_t> done;
    for (int step = 0; step < 400 || !queue.is_idle(); ++step) {
      ASSERT_LT(step, 20000) << "seed " << seed;
      const uint64_t worker = 1 + random() % 4;
      switch (random() % (step < 400 ? 8 : 3)) {
        case 0:
        case 1:
          if (const uint64_t id = next(queue, worker, now)) has[worker] = id;
          break;
        case 2:
          if (!has.contains(worker)) break;
          done.insert(has[worker]);
          queue.returned(worker, has[worker], {});
          has.erase(worker);
          break;
        case 3:
          queue.lost(worker);
          has.erase(worker);
          break;
        case 4:
          queue.expire(now += kLease, kLease);
          break;
        case 5:
          if (step % 50 == 0) queue.again_since(queue.mark() / 2);
          break;
        default:
          outcomes.push_back(add(queue));
      }
    }
    for (size_t i = 0; i < outcomes.size(); ++i) {
      EXPECT_EQ(outcomes[i]->state(), State::returned) << "seed " << seed << ", function " << i + 1;
      EXPECT_TRUE(done.contains(i + 1));
    }
  }
}

}  // namespace
}  // namespace nyala::detail
