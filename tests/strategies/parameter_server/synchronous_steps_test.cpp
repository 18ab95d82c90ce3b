// The state machine of synchronous training, and the board by which pieces of a step speak.
#include <nyala/strategies/parameter_server/synchronous_steps.h>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/strategies/parameter_server/held_pieces.h>
#include <nyala/strategies/parameter_server/piece_board.h>

namespace nyala::synchronous_steps_test {

namespace {

using namespace detail;
using namespace std::chrono_literals;
using Time = SynchronousSteps::TimePoint;

constexpr uint64_t kAnn = 1, kBob = 2, kCid = 3;

SynchronousSteps steps_of(std::initializer_list<uint64_t> workers, int backups = 0) {
  SynchronousSteps steps(backups);
  for (const uint64_t worker : workers) steps.join(worker);
  steps.begin(1);
  return steps;
}

TEST(SynchronousSteps, EachWorkerGetsOnePieceAndTheStepEndsWithTheLast) {
  SynchronousSteps steps = steps_of({kAnn, kBob, kCid});
  const auto bob = steps.next(kBob, Time()), ann = steps.next(kAnn, Time()), cid = steps.next(kCid, Time());
  ASSERT_TRUE(ann && bob && cid);
  EXPECT_EQ(*ann, (StepPiece{1, 0, 0, 3}));
  EXPECT_EQ(*bob, (StepPiece{1, 0, 1, 3}));
  EXPECT_EQ(*cid, (StepPiece{1, 0, 2, 3}));
  EXPECT_TRUE(steps.done(kBob, *bob, {2.0}, Time()));
  EXPECT_FALSE(steps.next(kBob, Time()));
  EXPECT_TRUE(steps.done(kCid, *cid, {3.0}, Time()));
  EXPECT_FALSE(steps.is_complete());
  EXPECT_TRUE(steps.done(kAnn, *ann, {1.0}, Time()));
  EXPECT_TRUE(steps.is_complete());
  EXPECT_EQ(steps.values(), (std::vector<std::vector<double>>{{1.0}, {2.0}, {3.0}}));
}

TEST(SynchronousSteps, AQuestionThatIsAskedAgainGetsTheSamePiece) {
  SynchronousSteps steps = steps_of({kAnn, kBob});
  EXPECT_EQ(steps.next(kBob, Time()), steps.next(kBob, Time()));
}

TEST(SynchronousSteps, WhoComesLateTakesPartFromTheNextStepOn) {
  SynchronousSteps steps = steps_of({kAnn});
  const auto ann = steps.next(kAnn, Time());
  EXPECT_EQ(ann->pieces, 1);
  EXPECT_FALSE(steps.next(kBob, Time()));
  steps.done(kAnn, *ann, {}, Time());
  steps.begin(2);
  EXPECT_EQ(steps.next(kBob, Time())->pieces, 2);
}

TEST(SynchronousSteps, APieceOfALostWorkerGoesToOneWhoIsFree) {
  SynchronousSteps steps = steps_of({kAnn, kBob});
  const auto ann = steps.next(kAnn, Time()), bob = steps.next(kBob, Time());
  steps.done(kAnn, *ann, {}, Time());
  EXPECT_TRUE(steps.leave(kBob));
  EXPECT_TRUE(steps.has_orphans());
  EXPECT_EQ(steps.next(kAnn, Time()), bob);
  EXPECT_FALSE(steps.has_orphans());
  EXPECT_TRUE(steps.done(kAnn, *bob, {}, Time()));
  EXPECT_TRUE(steps.is_complete());
}

TEST(SynchronousSteps, AStepThatIsBegunAgainHasPiecesForThoseWhoAreLeft) {
  SynchronousSteps steps = steps_of({kAnn, kBob, kCid});
  const auto ann = steps.next(kAnn, Time()), bob = steps.next(kBob, Time());
  EXPECT_TRUE(steps.done(kAnn, *ann, {}, Time()));
  EXPECT_FALSE(steps.leave(kCid));
  EXPECT_TRUE(steps.has_orphans()) << "nobody comes for the third piece";
  steps.begin_again();
  const auto again = steps.next(kBob, Time());
  EXPECT_EQ(again->attempt, 1);
  EXPECT_EQ(again->pieces, 2);
  EXPECT_FALSE(steps.done(kBob, *bob, {}, Time())) << "of the attempt before";
  EXPECT_TRUE(steps.done(kBob, *again, {}, Time()));
}

TEST(SynchronousSteps, ASilentWorkerIsNotWaitedForAndCountsWhereItIsFirst) {
  SynchronousSteps steps = steps_of({kAnn, kBob});
  const auto ann = steps.next(kAnn, Time()), bob = steps.next(kBob, Time(2s));
  steps.expire(Time(10s), 9s);
  EXPECT_TRUE(steps.has_orphans());
  EXPECT_EQ(steps.num_workers(), 1);
  EXPECT_TRUE(steps.done(kBob, *bob, {}, Time(10s)));
  EXPECT_TRUE(steps.done(kAnn, *ann, {}, Time(11s)));
  EXPECT_TRUE(steps.is_complete());
}

TEST(SynchronousSteps, ASpareWorkerGetsAPieceOfTheSlowest) {
  SynchronousSteps steps = steps_of({kAnn, kBob, kCid}, 1);
  EXPECT_EQ(steps.next(kAnn, Time())->pieces, 2);
  const auto slow = steps.next(kBob, Time());
  const auto spare = steps.next(kCid, Time());
  ASSERT_TRUE(spare);
  steps.done(kAnn, {1, 0, 0, 2}, {}, Time(1s));
  EXPECT_FALSE(steps.next(kAnn, Time(1s))) << "it has done its part";
  steps.done(kCid, {1, 0, 1, 2}, {}, Time(1s));
  EXPECT_TRUE(steps.is_complete());
  EXPECT_FALSE(steps.done(kBob, *slow, {}, Time(5s)));
  steps.begin(2);
  steps.next(kAnn, Time(5s));
  const auto again = steps.next(kBob, Time(5s));
  EXPECT_EQ(steps.next(kCid, Time(5s)), again) << "Bob was slow";
}

TEST(SynchronousSteps, NothingIsHandedOutBetweenSteps) {
  SynchronousSteps steps(0);
  EXPECT_FALSE(steps.next(kAnn, Time()));
  steps.begin(1);
  const auto piece = steps.next(kAnn, Time());
  steps.end();
  EXPECT_FALSE(steps.next(kAnn, Time()));
  EXPECT_FALSE(steps.done(kAnn, *piece, {}, Time()));
  EXPECT_FALSE(steps.is_complete());
}

std::vector<std::byte> bytes_of(int value) { return {static_cast<std::byte>(value)}; }

TEST(PieceBoard, AllGetWhatAllBring) {
  PieceBoard board;
  board.begin(1, 0);
  PieceBoard::Brought got;
  const auto keep = [&](const PieceBoard::Brought& brought) { got = brought; };
  EXPECT_TRUE(board.meet(1, {1, 0, 1, 2}, 0, "means", bytes_of(7), keep).empty());
  EXPECT_TRUE(board.has_waiting());
  EXPECT_TRUE(board.meet(2, {1, 0, 1, 2}, 0, "means", bytes_of(9), keep).empty()) << "the same piece";
  for (const PieceBoard::Ready& ready : board.meet(3, {1, 0, 0, 2}, 0, "means", bytes_of(5), keep))
    ready.answer(ready.brought);
  ASSERT_TRUE(got);
  EXPECT_EQ(*got, (std::vector{bytes_of(5), bytes_of(7)}));
  EXPECT_FALSE(board.has_waiting());
  EXPECT_EQ(board.meet(4, {1, 0, 1, 2}, 0, "means", bytes_of(1), keep).at(0).brought, got) << "who is late";
}

TEST(PieceBoard, WhoWaitsInAnotherAttemptIsTold) {
  PieceBoard board;
  board.begin(1, 0);
  const auto nothing = [](const PieceBoard::Brought&) {};
  board.meet(1, {1, 0, 0, 2}, 0, "means", {}, nothing);
  const auto told = board.begin(1, 1);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].brought, nullptr);
  EXPECT_EQ(board.meet(2, {1, 0, 1, 2}, 0, "means", {}, nothing).at(0).brought, nullptr);
}

TEST(PieceBoard, OtherMeetingsAreErrors) {
  PieceBoard board;
  board.begin(1, 0);
  const auto nothing = [](const PieceBoard::Brought&) {};
  board.meet(1, {1, 0, 0, 2}, 0, "means", {}, nothing);
  EXPECT_THROW(board.meet(2, {1, 0, 1, 2}, 0, "sums", {}, nothing), CommunicationError);
  EXPECT_THROW(board.meet(3, {1, 0, 1, 3}, 0, "means", {}, nothing), CommunicationError);
}

TEST(SynchronousSteps, APieceThatNobodyCanGoOnWithBeginsTheStepAgain) {
  SynchronousSteps steps(1);
  steps.begin(5);
  steps.join(kAnn), steps.join(kBob);
  const auto now = SynchronousSteps::TimePoint();
  const auto of_ann = steps.next(kAnn, now), of_bob = steps.next(kBob, now);  // the same one
  steps.behind(kBob, *of_bob);
  EXPECT_EQ(steps.attempt(), 0) << "Ann goes on with it";
  steps.leave(kAnn);
  const auto again = steps.next(kBob, now);
  EXPECT_EQ(again->attempt, 0);
  steps.behind(kBob, *again);
  EXPECT_EQ(steps.attempt(), 1);
  steps.behind(kBob, *again);
  EXPECT_EQ(steps.attempt(), 1) << "of an attempt that is over";
  steps.done(kBob, *steps.next(kBob, now), {}, now);
  steps.behind(kBob, {5, 1, 0, 1});
  EXPECT_TRUE(steps.is_complete());
}

TEST(HeldPieces, LaterAttemptsReplaceEarlierOnes) {
  HeldPieces held;
  held.hold({2, 0, 0, 2}, {.payload = bytes_of(1)});
  EXPECT_TRUE(held.all_of({2, 0, 0, 2}).empty());
  held.hold({2, 1, 0, 1}, {.payload = bytes_of(2)});
  held.hold({2, 0, 1, 2}, {.payload = bytes_of(3)});
  EXPECT_TRUE(held.all_of({2, 0, 0, 2}).empty());
  held.hold({2, 1, 0, 1}, {.payload = bytes_of(4)});
  ASSERT_EQ(held.all_of({2, 1, 0, 1}).size(), 1u);
  EXPECT_EQ(held.all_of({2, 1, 0, 1})[0]->payload, bytes_of(2)) << "the first one stays";
  EXPECT_THROW(held.hold({2, 1, 3, 2}, {}), CommunicationError);
}

}  // namespace

}  // namespace nyala::synchronous_steps_test
