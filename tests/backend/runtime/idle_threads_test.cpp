// Whether idle OpenMP threads block, by what teams tell, and that the crowd which makes them do it comes and
// goes: counted among the threads of this process, at times that the test makes up.
#include <chrono>
#include <filesystem>
#include <thread>

#include <gtest/gtest.h>

#include <nyala/backend/runtime/idle_threads.h>

namespace nyala {
namespace {

using std::chrono::milliseconds;

constexpr int kTeam = 2;
constexpr double kBusy = 0.5, kQuiet = 0.01, kBetween = 0.1;

int64_t num_threads() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

/// Threads begin and end when the system comes to it.
template <class Condition>
bool comes_true(Condition condition) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition() && std::chrono::steady_clock::now() < limit)
    std::this_thread::sleep_for(milliseconds(1));
  return condition();
}

class IdleThreadsTest : public ::testing::Test {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "the thread sanitizer keeps threads of its own";
#endif
    if (!std::filesystem::exists("/proc/self/task")) GTEST_SKIP() << "this system lists no threads";
    before_ = num_threads();
  }
  void TearDown() override {
    if (threads_.block()) hear_until(false, kQuiet);
    EXPECT_TRUE(comes_true([&] { return num_threads() <= before_; })) << num_threads() << " of " << before_;
  }

  /// Every 5 ms, until `until`.
  void hear(double share_waited, int until) {
    for (; now_ < until; now_ += 5) threads_.hear(share_waited, kTeam, start_ + milliseconds(now_));
  }
  /// Until idle threads block or do no longer; how many milliseconds that took.
  int hear_until(bool block, double share_waited) {
    const int from = now_;
    while (threads_.block() != block && now_ < from + 60'000) hear(share_waited, now_ + 5);
    return now_ - from;
  }

  int64_t before_ = 0;
  int now_ = 0;
  IdleThreads threads_;
  const IdleThreads::Clock::time_point start_ = IdleThreads::Clock::now();
};

TEST_F(IdleThreadsTest, ACrowdComesWhereTeamsWaitMuch) {
  hear(kBetween, 1000);
  EXPECT_FALSE(threads_.block());
  EXPECT_LT(hear_until(true, kBusy), 100);
  EXPECT_TRUE(comes_true([&] { return num_threads() > before_; }));
}

TEST_F(IdleThreadsTest, WhatASystemDoesByTheWayIsNoReason) {
  for (int second = 1; second <= 10; ++second) {
    hear(kBusy, now_ + 40);
    hear(1.0, now_ + 5);
    hear(kQuiet, second * 1000);
    EXPECT_FALSE(threads_.block());
  }
}

TEST_F(IdleThreadsTest, ItsThreadsEndOnceTeamsDidNotWaitForAWhile) {
  hear_until(true, kBusy);
  ASSERT_TRUE(comes_true([&] { return num_threads() > before_; }));
  hear(kBusy, 1000);
  hear(kQuiet, now_ + 250);
  EXPECT_TRUE(threads_.block()) << "not at once";
  hear(kBetween, now_ + 1000);
  hear(kQuiet, now_ + 250);
  EXPECT_TRUE(threads_.block()) << "a while since teams waited last";
  hear(kQuiet, now_ + 500);
  EXPECT_FALSE(threads_.block());
  EXPECT_TRUE(comes_true([&] { return num_threads() <= before_; })) << num_threads() << " of " << before_;
}

TEST_F(IdleThreadsTest, TheyBlockFromTheBeginningUntilTheCoresAreSeenToBeFree) {
  threads_.begin(kTeam, start_);
  EXPECT_TRUE(threads_.block());
  hear(kQuiet, 250);
  EXPECT_TRUE(threads_.block());
  hear(kQuiet, 270);
  EXPECT_FALSE(threads_.block());
}

TEST_F(IdleThreadsTest, ThoseThatBlockFromTheBeginningGoOnWhereTeamsWait) {
  threads_.begin(kTeam, start_);
  hear(kBusy, 1000);
  EXPECT_TRUE(threads_.block());
}

TEST_F(IdleThreadsTest, WhereItComesBackSoonItStaysLonger) {
  hear_until(true, kBusy);
  const int first = hear_until(false, kQuiet);
  hear_until(true, kBusy);
  const int second = hear_until(false, kQuiet);
  EXPECT_NEAR(second - first, 250, 20) << "twice as long now";
  hear(kQuiet, now_ + 20'000);
  hear_until(true, kBusy);
  EXPECT_NEAR(hear_until(false, kQuiet), first, 20) << "long after, as at first";
}

}  // namespace
}  // namespace nyala
