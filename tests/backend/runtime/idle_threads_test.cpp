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
    if (threads_.block()) hear(kQuiet, 60'000);
    EXPECT_TRUE(comes_true([&] { return num_threads() <= before_; })) << num_threads() << " of " << before_;
  }

  void hear(double share_waited, int at) { threads_.hear(share_waited, kTeam, start_ + milliseconds(at)); }

  int64_t before_ = 0;
  IdleThreads threads_;
  const IdleThreads::Clock::time_point start_ = IdleThreads::Clock::now();
};

TEST_F(IdleThreadsTest, ACrowdComesWhereTeamsWaitMuch) {
  hear(kBetween, 0);
  EXPECT_FALSE(threads_.block());
  hear(kBusy, 5);
  EXPECT_TRUE(threads_.block());
  EXPECT_TRUE(comes_true([&] { return num_threads() > before_; }));
}

TEST_F(IdleThreadsTest, ItsThreadsEndOnceTeamsDidNotWaitForAWhile) {
  hear(kBusy, 0);
  ASSERT_TRUE(comes_true([&] { return num_threads() > before_; }));
  hear(kQuiet, 250);
  EXPECT_TRUE(threads_.block()) << "not at once";
  hear(kBetween, 300);
  hear(kQuiet, 500);
  EXPECT_TRUE(threads_.block()) << "a while since teams waited last";
  hear(kQuiet, 551);
  EXPECT_FALSE(threads_.block());
  EXPECT_TRUE(comes_true([&] { return num_threads() <= before_; })) << num_threads() << " of " << before_;
}

TEST_F(IdleThreadsTest, WhereItComesBackSoonItStaysLonger) {
  hear(kBusy, 0);
  hear(kQuiet, 251);
  ASSERT_FALSE(threads_.block());
  hear(kBusy, 300);
  hear(kQuiet, 600);
  EXPECT_TRUE(threads_.block()) << "twice as long now";
  hear(kQuiet, 801);
  EXPECT_FALSE(threads_.block());
  hear(kBusy, 20'000);
  hear(kQuiet, 20'251);
  EXPECT_FALSE(threads_.block()) << "long after, as at first";
}

}  // namespace
}  // namespace nyala
