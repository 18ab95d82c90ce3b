#include <nyala/backend/core/mutex.h>

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/tests/support/forked.h>

namespace nyala {
namespace {

TEST(Mutex, ExcludesAndWakes) {
  Mutex mutex;
  int64_t count = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 20000; ++i) {
        const std::lock_guard lock(mutex);
        ++count;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 80000);
}

TEST(Mutex, RecursiveOneMayBeLockedAgain) {
  RecursiveMutex mutex(Mutex::AtFork::is_lost);
  int64_t count = 0;
  const auto work = [&] {
    for (int i = 0; i < 5000; ++i) {
      const std::lock_guard lock(mutex);
      const std::lock_guard again(mutex);
      ++count;
    }
  };
  std::thread other(work);
  work();
  other.join();
  EXPECT_EQ(count, 10000);
}

/// A thread that holds a mutex until this ends.
class Holder {
 public:
  explicit Holder(Mutex& mutex)
      : thread_([this, &mutex] {
          const std::lock_guard lock(mutex);
          holds_ = true;
          holds_.notify_all();
          done_.wait(false);
        }) {
    holds_.wait(false);
  }
  ~Holder() {
    done_ = true;
    done_.notify_all();
    thread_.join();
  }

 private:
  std::atomic<bool> holds_{false}, done_{false};
  std::thread thread_;
};

TEST(Mutex, OneThatAnotherThreadHeldAtForkIsLostInTheChild) {
  Mutex mutex;
  const Holder holder(mutex);
  const ForkedEnd end = in_forked_child([&] {
    if (mutex.try_lock() || mutex.lock_unless_lost()) return false;
    const std::lock_guard lock(mutex);
    return true;
  });
  EXPECT_TRUE(end.refused()) << end.code << " " << end.signal;
  EXPECT_NE(end.text.find("was forked while another thread"), std::string::npos) << end.text;
}

TEST(Mutex, OneThatIsFreeOrHeldByTheForkingThreadWorksInTheChild) {
  Mutex free, held;
  std::unique_lock lock(held);
  EXPECT_TRUE(in_forked_child([&] {
                const std::lock_guard own(free);
                lock.unlock();
                const std::lock_guard again(held);
                return true;
              }).worked());
}

TEST(Mutex, ForkWaitsForThoseOfTheWholeProcess) {
  Mutex mutex(Mutex::AtFork::is_waited);
  std::atomic<bool> stop{false};
  int guarded = 0;
  std::thread other([&] {
    while (!stop) {
      const std::lock_guard lock(mutex);
      guarded = 1;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      guarded = 0;
    }
  });
  for (int i = 0; i < 20; ++i)
    EXPECT_TRUE(in_forked_child([&] {
                  const std::lock_guard lock(mutex);
                  return guarded == 0;
                }).worked());
  stop = true;
  other.join();
}

TEST(Mutex, ForkDoesNotWaitForEver) {
  Mutex mutex(Mutex::AtFork::is_waited);
  const Holder holder(mutex);
  EXPECT_TRUE(in_forked_child([&] { return !mutex.lock_unless_lost(); }).worked());
}

TEST(Mutex, ConditionThatThreadsOfTheParentWaitForCanBeDestroyed) {
  Mutex mutex;
  auto* condition = new Condition;
  bool done = false;
  std::thread other([&] {
    std::unique_lock lock(mutex);
    condition->wait(lock, [&] { return done; });
  });
  EXPECT_TRUE(in_forked_child([&] {
                delete condition;
                return true;
              }).worked());
  {
    const std::lock_guard lock(mutex);
    done = true;
  }
  condition->notify_all();
  other.join();
  delete condition;
}

TEST(Fork, ThreadsThatStayedBehindAreKnown) {
  uint64_t other = 0;
  std::thread([&] { other = thread_number(); }).join();
  const uint64_t own = thread_number();
  EXPECT_NE(own, other);
  const uint32_t before = forks();
  EXPECT_TRUE(in_forked_child([&] {
                uint64_t later = 0;
                std::thread([&] { later = thread_number(); }).join();
                return forks() == before + 1 && thread_number() == own && !lost_in_fork(own) &&
                       lost_in_fork(other) && !lost_in_fork(later) && later > other;
              }).worked());
  EXPECT_EQ(forks(), before);
}

}  // namespace
}  // namespace nyala
