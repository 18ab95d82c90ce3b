#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/tests/datasets/dataset_support.h>

namespace nyala {

using namespace nyala::detail;
namespace {

using namespace std::chrono_literals;

int64_t value_of(const Element& e) { return e.x[0].data<int64_t>()[0]; }

/// Threads of this process.
size_t thread_count() {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task"))
    count += entry.exists() ? 1 : 0;
  return count;
}

/// Threads before a test begins. A sanitizer starts one of its own beside the first thread of a program, so
/// there is a first one here.
size_t threads_at_rest() {
  std::thread([] {}).join();
  std::this_thread::sleep_for(20ms);
  return thread_count();
}

/// Waits a little for threads that are on their way out of the kernel's list.
void expect_thread_count(size_t expected) {
  for (int i = 0; i < 200 && thread_count() != expected; ++i) std::this_thread::sleep_for(5ms);
  EXPECT_EQ(thread_count(), expected);
}

TEST(DatasetThreadsTest, ParallelMapKeepsTheOrder) {
  const auto slow_first = [](Element e) {
    if (value_of(e) % 7 == 0) std::this_thread::sleep_for(2ms);
    return e;
  };
  for (const int calls : {1, 2, 8, kAutotune})
    EXPECT_EQ(all_of(range(100).map(slow_first, {.num_parallel_calls = calls})), count_to(100)) << calls;
  EXPECT_TRUE(all_of(range(0).map(slow_first, {.num_parallel_calls = 4})).empty());
  EXPECT_THROW(range(3).map(slow_first, {.num_parallel_calls = -2}), InvalidArgumentError);
}

TEST(DatasetThreadsTest, ParallelMapRunsInParallel) {
  std::atomic<int> inside{0}, most{0};
  const auto wait_for_company = [&](Element e) {
    const int now = ++inside;
    for (int old = most; old < now && !most.compare_exchange_weak(old, now);) {
    }
    for (int i = 0; i < 400 && most < 3; ++i) std::this_thread::sleep_for(5ms);
    --inside;
    return e;
  };
  EXPECT_EQ(all_of(range(9).map(wait_for_company, {.num_parallel_calls = 3})), count_to(9));
  EXPECT_EQ(most, 3);
}

TEST(DatasetThreadsTest, WorkersRunAheadOnlySoFar) {
  std::atomic<int> started{0};
  const Dataset data = range(1000).map(
      [&](Element e) {
        ++started;
        return e;
      },
      {.num_parallel_calls = 3});
  DatasetIterator iterator = data.iterate();
  Element e;
  ASSERT_TRUE(iterator.next(e));
  std::this_thread::sleep_for(100ms);
  EXPECT_LE(started, 7) << "one fetched, two per worker waiting";
}

TEST(DatasetThreadsTest, AnExceptionOfAMapArrivesInItsPlace) {
  for (const int calls : {0, 1, 4}) {
    for (const bool prefetched : {false, true}) {
      const size_t threads_before = threads_at_rest();
      Dataset data = range(100).map(
          [](Element e) {
            if (value_of(e) == 20) throw std::runtime_error("element 20");
            return e;
          },
          {.num_parallel_calls = calls});
      if (prefetched) data = data.prefetch(3);
      {
        DatasetIterator iterator = data.iterate();
        Element e;
        for (int64_t i = 0; i < 20; ++i) {
          ASSERT_TRUE(iterator.next(e));
          EXPECT_EQ(value_of(e), i);
        }
        try {
          iterator.next(e);
          ADD_FAILURE() << "nothing was thrown";
        } catch (const std::runtime_error& error) {
          EXPECT_STREQ(error.what(), "element 20");
        }
        EXPECT_FALSE(iterator.next(e));
        EXPECT_FALSE(iterator.next(e));
      }
      expect_thread_count(threads_before);
    }
  }
}

TEST(DatasetThreadsTest, AnExceptionOfAGeneratorArrivesThroughThreads) {
  const Dataset data = Dataset::from_generator([] {
                         return [i = int64_t{0}](Element& e) mutable {
                           if (i == 5) throw FileFormatError("the file is damaged");
                           e.x = {Tensor::scalar<int64_t>(i++)};
                           return true;
                         };
                       })
                           .map([](Element e) { return e; }, {.num_parallel_calls = 3})
                           .batch(2)
                           .prefetch(2);
  DatasetIterator iterator = data.iterate();
  Batch batch;
  EXPECT_TRUE(iterator.next(batch));
  EXPECT_TRUE(iterator.next(batch));
  EXPECT_THROW(iterator.next(batch), FileFormatError);
}

TEST(DatasetThreadsTest, StoppingEarlyEndsTheThreads) {
  const size_t threads_before = threads_at_rest();
  for (int round = 0; round < 50; ++round) {
    const Dataset data = range(100000)
                             .repeat()
                             .map([](Element e) { return e; }, {.num_parallel_calls = 3})
                             .batch(4)
                             .prefetch(2)
                             .map([](Element e) { return e; }, {.num_parallel_calls = 2});
    DatasetIterator iterator = data.iterate();
    Batch batch;
    for (int i = 0; i < round % 5; ++i) ASSERT_TRUE(iterator.next(batch));
  }
  expect_thread_count(threads_before);
}

TEST(DatasetThreadsTest, NoThreadStartsBeforeTheFirstElement) {
  const size_t threads_before = threads_at_rest();
  DatasetIterator iterator =
      range(10).map([](Element e) { return e; }, {.num_parallel_calls = 3}).prefetch().iterate();
  EXPECT_EQ(iterator.skip(4), 4);
  EXPECT_EQ(thread_count(), threads_before);
  EXPECT_EQ(joined(elements_of(std::move(iterator))), (Numbers{4, 5, 6, 7, 8, 9}));
}

TEST(DatasetThreadsTest, PrefetchFetchesAheadUpToItsSize) {
  std::atomic<int> made{0};
  const Dataset data = range(100)
                           .map([&](Element e) {
                             ++made;
                             return e;
                           })
                           .prefetch(4);
  DatasetIterator iterator = data.iterate();
  Element e;
  ASSERT_TRUE(iterator.next(e));
  for (int i = 0; i < 400 && made < 6; ++i) std::this_thread::sleep_for(5ms);
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(made, 6) << "one fetched, four ready, one in the hand";
  EXPECT_EQ(all_of(range(5).prefetch(0)), count_to(5));
  EXPECT_THROW(range(5).prefetch(-3), InvalidArgumentError);
}

TEST(DatasetThreadsTest, WorkersUseTheConsumersDeviceAndOneThreadEach) {
  const auto on = device("cpu:0");
  std::atomic<int> wrong{0};
  const Dataset data = range(20).map(
      [&](Element e) {
        const ThreadContext& context = thread_context();
        if (context.device != Device("cpu:0") || context.compute_threads != 1 || context.tape) ++wrong;
        return e;
      },
      {.num_parallel_calls = 2});
  EXPECT_EQ(all_of(data), count_to(20));
  EXPECT_EQ(wrong, 0);
}

TEST(DatasetThreadsTest, OneDatasetInSeveralThreads) {
  const Dataset data = range(500).shuffle(500, {.seed = 2}).map([](Element e) { return e; }).cache().batch(7);
  std::vector<std::thread> threads;
  std::vector<Numbers> results(4);
  for (Numbers& result : results)
    threads.emplace_back([&data, &result] { result = all_of(data, {.epoch = 1}); });
  for (std::thread& thread : threads) thread.join();
  for (const Numbers& result : results) EXPECT_EQ(result, results[0]);
}

}  // namespace
}  // namespace nyala
