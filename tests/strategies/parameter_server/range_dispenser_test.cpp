#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>
#include <random>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/strategies/parameter_server/range_dispenser.h>

namespace nyala::range_dispenser_test {
namespace {

using detail::DispensedRange;
using detail::DispenserAnswer;
using detail::DispenserProgress;
using detail::RangeDispenser;
using detail::RepeatedRanges;
using Kind = DispenserAnswer::Kind;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

RangeDispenser::TimePoint at(int64_t second) { return RangeDispenser::TimePoint(seconds(second)); }

/// What the worker gets now, which has to be a range.
DispensedRange given(RangeDispenser& dispenser, uint64_t worker, int64_t second = 0) {
  const DispenserAnswer answer = dispenser.next(worker, at(second));
  EXPECT_EQ(answer.kind, Kind::range);
  return answer.range;
}

Kind answer(RangeDispenser& dispenser, uint64_t worker = 1) { return dispenser.next(worker, at(0)).kind; }

TEST(RangeDispenser, HandsBatchesOutInOrderEachToOneWorker) {
  RangeDispenser dispenser;
  EXPECT_EQ(answer(dispenser), Kind::wait);
  EXPECT_FALSE(dispenser.is_epoch_over());
  dispenser.begin_epoch(4, 3);
  for (const int64_t batch : {0, 1, 2}) {
    const DispensedRange range = given(dispenser, static_cast<uint64_t>(10 + batch));
    EXPECT_EQ(range.id, static_cast<uint64_t>(batch + 1));
    EXPECT_EQ(range.epoch, 4);
    EXPECT_EQ(range.batch, batch);
  }
  EXPECT_EQ(answer(dispenser), Kind::wait);
  EXPECT_TRUE(dispenser.done(12, 3));
  EXPECT_TRUE(dispenser.done(10, 1));
  EXPECT_FALSE(dispenser.is_epoch_over());
  EXPECT_TRUE(dispenser.done(11, 2));
  EXPECT_TRUE(dispenser.is_epoch_over());
  EXPECT_EQ(answer(dispenser), Kind::epoch_over);
  dispenser.begin_epoch(5, 1);
  const DispensedRange range = given(dispenser, 1);
  EXPECT_EQ(range.id, 4u);
  EXPECT_EQ(range.batch, 0);
  EXPECT_FALSE(dispenser.done(1, 3));  // of the epoch before
  dispenser.begin_epoch(6, 0);
  EXPECT_EQ(answer(dispenser), Kind::epoch_over);
  EXPECT_FALSE(dispenser.done(1, 4));
}

TEST(RangeDispenser, CountsEachOnce) {
  RangeDispenser dispenser;
  dispenser.begin_epoch(0, 2);
  const DispensedRange first = given(dispenser, 1);
  EXPECT_FALSE(dispenser.done(2, first.id));  // another worker's
  EXPECT_TRUE(dispenser.done(1, first.id));
  EXPECT_FALSE(dispenser.done(1, first.id));
  EXPECT_FALSE(dispenser.done(1, 0));
  EXPECT_FALSE(dispenser.done(1, 2));  // not handed out yet
  const DispenserProgress progress = dispenser.progress();
  EXPECT_EQ(progress.done, 1);
  EXPECT_EQ(progress.outstanding, 0);
  EXPECT_THAT(progress.by_worker, ElementsAre(Pair(1, 1)));
}

TEST(RangeDispenser, WhatALostWorkerHadGoesToTheNextThatAsks) {
  RangeDispenser dispenser;
  dispenser.begin_epoch(0, 4);
  const DispensedRange a = given(dispenser, 1), b = given(dispenser, 2), c = given(dispenser, 1);
  EXPECT_EQ(dispenser.lost(1), 2);
  EXPECT_EQ(dispenser.lost(1), 0);
  EXPECT_EQ(dispenser.progress().waiting, 2);
  EXPECT_EQ(given(dispenser, 2).id, a.id);
  EXPECT_FALSE(dispenser.done(1, a.id));  // another one has it
  EXPECT_TRUE(dispenser.done(1, c.id));   // nobody has it yet
  EXPECT_EQ(given(dispenser, 2).batch, 3);
  EXPECT_TRUE(dispenser.done(2, a.id));
  EXPECT_TRUE(dispenser.done(2, b.id));
  EXPECT_EQ(dispenser.progress().given_back, 2);
  EXPECT_EQ(dispenser.progress().outstanding, 1);
}

TEST(RangeDispenser, WhatIsOutTooLongComesBack) {
  RangeDispenser dispenser;
  dispenser.begin_epoch(0, 3);
  const DispensedRange a = given(dispenser, 1, 100), b = given(dispenser, 1, 105);
  EXPECT_EQ(dispenser.expire(at(109), seconds(10)), 0);
  EXPECT_EQ(dispenser.expire(at(110), seconds(10)), 1);
  EXPECT_EQ(given(dispenser, 2, 110).id, a.id);
  EXPECT_EQ(dispenser.expire(at(119), seconds(10)), 1);
  EXPECT_TRUE(dispenser.done(1, b.id));
  EXPECT_FALSE(dispenser.done(1, a.id));
  EXPECT_TRUE(dispenser.done(2, a.id));
  EXPECT_EQ(given(dispenser, 1).batch, 2);
}

TEST(RangeDispenser, WorkersFindTheEndOfDataOfUnknownLength) {
  RangeDispenser dispenser;
  dispenser.begin_epoch(0, -1);
  EXPECT_EQ(dispenser.progress().batches, -1);
  std::vector<DispensedRange> ranges;
  for (const uint64_t worker : {1, 2, 3, 4}) ranges.push_back(given(dispenser, worker));
  EXPECT_TRUE(dispenser.done(1, ranges[0].id));
  dispenser.lost(4);
  dispenser.ended(2, ranges[2].id);  // not its own
  EXPECT_EQ(dispenser.progress().batches, -1);
  dispenser.ended(3, ranges[2].id);
  EXPECT_EQ(dispenser.progress().batches, 2);
  EXPECT_EQ(dispenser.progress().waiting, 0);  // batch 3 is none
  EXPECT_EQ(answer(dispenser, 3), Kind::wait);
  EXPECT_FALSE(dispenser.is_epoch_over());
  EXPECT_TRUE(dispenser.done(2, ranges[1].id));
  EXPECT_TRUE(dispenser.is_epoch_over());
  EXPECT_EQ(dispenser.progress().done, 2);
}

template <class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

TEST(RangeDispenser, WorkersWithOtherDataAreAnError) {
  RangeDispenser dispenser;
  dispenser.begin_epoch(7, -1);
  const DispensedRange a = given(dispenser, 1), b = given(dispenser, 2), c = given(dispenser, 3);
  EXPECT_TRUE(dispenser.done(2, b.id));
  EXPECT_THAT(error_of([&] { dispenser.ended(1, a.id); }),
              HasSubstr("epoch 7: one worker's data has no batch 0, and another worker has trained batch 1"));
  dispenser.ended(3, c.id);
  EXPECT_TRUE(dispenser.done(1, a.id));
  EXPECT_TRUE(dispenser.is_epoch_over());
  dispenser.begin_epoch(8, -1);
  const DispensedRange d = given(dispenser, 1), e = given(dispenser, 2);
  dispenser.ended(1, d.id);
  EXPECT_THROW(dispenser.done(2, e.id), StateError);
  dispenser.lost(2);
  EXPECT_TRUE(dispenser.is_epoch_over());
}

TEST(RangeDispenser, StopLetsWorkersFinish) {
  RangeDispenser dispenser;
  dispenser.begin_epoch(0, 10);
  const DispensedRange a = given(dispenser, 1), b = given(dispenser, 2), c = given(dispenser, 3);
  dispenser.lost(3);
  dispenser.stop();
  EXPECT_EQ(answer(dispenser), Kind::stopped);
  EXPECT_FALSE(dispenser.done(3, c.id));
  EXPECT_FALSE(dispenser.is_epoch_over());
  EXPECT_TRUE(dispenser.done(1, a.id));
  EXPECT_EQ(dispenser.lost(2), 0);
  EXPECT_FALSE(dispenser.done(2, b.id));
  EXPECT_TRUE(dispenser.is_epoch_over());
  EXPECT_EQ(dispenser.again_since(0).gone, 1);
  dispenser.begin_epoch(1, 1);
  EXPECT_EQ(given(dispenser, 1).epoch, 1);
}

TEST(RangeDispenser, WhatAServerLostIsDispensedAgainAndCounted) {
  RangeDispenser dispenser;
  dispenser.begin_epoch(0, 2);
  for (const uint64_t worker : {1, 2}) EXPECT_TRUE(dispenser.done(worker, given(dispenser, worker).id));
  const uint64_t early = dispenser.mark();
  EXPECT_EQ(early, 2u);
  dispenser.begin_epoch(1, 4);
  const DispensedRange a = given(dispenser, 1), b = given(dispenser, 1);
  EXPECT_TRUE(dispenser.done(1, a.id));
  const uint64_t mark = dispenser.mark();
  EXPECT_TRUE(dispenser.done(1, b.id));
  const DispensedRange c = given(dispenser, 1);
  const RepeatedRanges one = dispenser.again_since(mark);
  EXPECT_EQ(one.again, 1);
  EXPECT_EQ(one.gone, 0);
  EXPECT_FALSE(dispenser.done(1, c.id));  // its push may be among those that the server lost
  EXPECT_EQ(given(dispenser, 1).id, b.id);
  EXPECT_EQ(given(dispenser, 2).id, c.id);
  EXPECT_TRUE(dispenser.done(1, b.id));
  EXPECT_TRUE(dispenser.done(2, c.id));
  EXPECT_TRUE(dispenser.done(2, given(dispenser, 2).id));
  EXPECT_TRUE(dispenser.is_epoch_over());
  EXPECT_EQ(dispenser.progress().done, 4);
  EXPECT_EQ(dispenser.progress().repeated, 1);
  const RepeatedRanges all = dispenser.again_since(early - 1);  // one of them is of the epoch before
  EXPECT_EQ(all.again, 4);
  EXPECT_EQ(all.gone, 1);
  EXPECT_FALSE(dispenser.is_epoch_over());
  EXPECT_EQ(dispenser.progress().done, 0);
  EXPECT_THROW(dispenser.again_since(dispenser.mark() + 1), InvalidArgumentError);
}

TEST(RangeDispenser, GoesOnFromASnapshot) {
  RangeDispenser before;
  before.begin_epoch(3, 5);
  const DispensedRange a = given(before, 1), b = given(before, 2), c = given(before, 3);
  EXPECT_TRUE(before.done(1, a.id));
  RangeDispenser dispenser;
  dispenser.begin_epoch(9, 9);
  dispenser.restore(before.snapshot());
  EXPECT_EQ(dispenser.progress().epoch, 3);
  EXPECT_EQ(dispenser.progress().waiting, 2);
  EXPECT_TRUE(dispenser.done(2, b.id));  // it was at it all the time
  EXPECT_EQ(given(dispenser, 1).id, c.id);
  EXPECT_FALSE(dispenser.done(3, c.id));
  EXPECT_EQ(given(dispenser, 1).batch, 3);
  EXPECT_EQ(dispenser.mark(), 2u);
  EXPECT_THAT(dispenser.progress().by_worker, ElementsAre(Pair(1, 1), Pair(2, 1)));
}

/// Each byte changed and each length: an error, or a state that still hands each batch out.
TEST(RangeDispenser, BelievesNoSnapshot) {
  RangeDispenser before;
  before.begin_epoch(3, 5);
  EXPECT_TRUE(before.done(1, given(before, 1).id));
  given(before, 2);
  const std::string whole = before.snapshot();
  RangeDispenser dispenser;
  dispenser.begin_epoch(9, 1);
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_THROW(dispenser.restore(whole.substr(0, size)), InvalidArgumentError) << size;
  EXPECT_THROW(dispenser.restore(whole + "x"), InvalidArgumentError);
  EXPECT_EQ(dispenser.progress().epoch, 9);
  int refused = 0;
  for (size_t byte = 0; byte < whole.size(); ++byte)
    for (const int bit : {0, 4, 7}) {
      std::string damaged = whole;
      damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << bit));
      try {
        dispenser.restore(damaged);
      } catch (const InvalidArgumentError&) {
        ++refused;
        continue;
      }
      dispenser.next(1, at(0));
      dispenser.again_since(0);
      dispenser.progress();
    }
  EXPECT_GT(refused, 100);
}

/// A job in which anything may fail at any time. Its server applies each id once and has snapshots.
class RandomJob {
 public:
  RandomJob(uint32_t seed, bool servers_fail) : random_(seed), servers_fail_(servers_fail) {}

  void run_epochs(int64_t epochs) {
    for (int64_t epoch = 0; epoch < epochs; ++epoch) {
      batches_ = draw(40);
      lengths_.push_back(batches_);
      counted_.assign(static_cast<size_t>(batches_), 0);
      repeated_ = 0;
      dispenser_.begin_epoch(epoch, draw(2) ? batches_ : -1);
      snapshot_server();  // as at the end of an epoch
      for (int step = 0; !dispenser_.is_epoch_over(); ++step) {
        ASSERT_LT(step, 100'000);
        do_something();
      }
      check(epoch);
    }
  }

 private:
  int64_t draw(int64_t below) { return std::uniform_int_distribution<int64_t>(0, below - 1)(random_); }

  void do_something() {
    now_ += draw(3);
    const uint64_t worker = static_cast<uint64_t>(draw(4));
    std::vector<DispensedRange>& has = has_[worker];
    const int64_t what = draw(100);
    if (what < 45) {
      ask(worker);
    } else if (what < 80) {
      if (!has.empty()) finish(worker, has[static_cast<size_t>(draw(static_cast<int64_t>(has.size())))]);
    } else if (what < 84) {
      dispenser_.lost(worker);
      if (draw(2)) has.clear();  // else it was only cut off, and goes on
    } else if (what < 88) {
      dispenser_.expire(at(now_), seconds(20));
    } else if (what < 91) {
      dispenser_.restore(dispenser_.snapshot());
    } else if (what < 95) {
      if (servers_fail_) snapshot_server();
    } else if (what < 97 && servers_fail_) {
      applied_ = saved_;
      const RepeatedRanges lost = dispenser_.again_since(mark_);
      EXPECT_EQ(lost.gone, 0);
      repeated_ += lost.again;
    }
  }

  void ask(uint64_t worker) {
    const DispenserAnswer answer = dispenser_.next(worker, at(now_));
    if (answer.kind == Kind::range) has_[worker].push_back(answer.range);
  }

  void finish(uint64_t worker, const DispensedRange& range) {
    const bool is_old = range.epoch != dispenser_.progress().epoch;
    if (range.batch >= lengths_.at(static_cast<size_t>(range.epoch)))
      return dispenser_.ended(worker, range.id);
    applied_.insert(range.id);
    if (servers_fail_ && draw(20) == 0) {  // between the push and the word of it
      applied_ = saved_;
      repeated_ += dispenser_.again_since(mark_).again;
    }
    for (int64_t tries = 1 + draw(2); tries > 0; --tries)
      if (dispenser_.done(worker, range.id)) {
        EXPECT_FALSE(is_old);
        ++counted_.at(static_cast<size_t>(range.batch));
      }
  }

  void snapshot_server() {
    mark_ = dispenser_.mark();
    saved_ = applied_;
  }

  void check(int64_t epoch) {
    const DispenserProgress progress = dispenser_.progress();
    EXPECT_EQ(progress.done, batches_);
    EXPECT_EQ(progress.repeated, repeated_);
    int64_t sum = 0;
    for (const int64_t count : counted_) {
      if (servers_fail_)
        EXPECT_GE(count, 1);
      else
        EXPECT_EQ(count, 1);
      sum += count;
    }
    EXPECT_EQ(sum, batches_ + repeated_);
    int64_t by_workers = 0;
    for (const auto& [worker, count] : progress.by_worker) by_workers += count;
    EXPECT_EQ(by_workers, sum);
    expected_ += batches_;
    EXPECT_EQ(static_cast<int64_t>(applied_.size()), expected_) << "epoch " << epoch;
  }

  std::mt19937 random_;
  bool servers_fail_;
  RangeDispenser dispenser_;
  int64_t now_ = 0, batches_ = 0, repeated_ = 0, expected_ = 0;
  std::vector<int64_t> counted_, lengths_;
  std::map<uint64_t, std::vector<DispensedRange>> has_;  // also what was taken from it, or is done
  std::set<uint64_t> applied_, saved_;
  uint64_t mark_ = 0;
};

TEST(RangeDispenser, EachBatchIsCountedOnceWhateverWorkersDo) {
  for (uint32_t seed = 0; seed < 1000 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    RandomJob(seed, false).run_epochs(3);
  }
}

TEST(RangeDispenser, EachBatchIsInTheServersAtTheEndWhateverTheyLose) {
  for (uint32_t seed = 0; seed < 1000 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    RandomJob(seed, true).run_epochs(3);
  }
}

TEST(RangeDispenser, IsUsedByManyThreads) {
  constexpr int kBatches = 2000;
  RangeDispenser dispenser;
  dispenser.begin_epoch(0, kBatches);
  std::vector<std::atomic<int>> counted(kBatches);
  std::vector<std::thread> threads;
  for (uint64_t worker = 0; worker < 4; ++worker)
    threads.emplace_back([&, worker] {
      for (int i = 0; !dispenser.is_epoch_over(); ++i) {
        const DispenserAnswer answer = dispenser.next(worker, at(0));
        if (i % 97 == 0) dispenser.lost((worker + 1) % 4);
        if (i % 101 == 0) dispenser.snapshot();
        if (answer.kind == Kind::range && dispenser.done(worker, answer.range.id))
          ++counted[static_cast<size_t>(answer.range.batch)];
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(std::all_of(counted.begin(), counted.end(), [](const auto& count) { return count == 1; }));
  EXPECT_EQ(dispenser.progress().done, kBatches);
}

}  // namespace
}  // namespace nyala::range_dispenser_test
