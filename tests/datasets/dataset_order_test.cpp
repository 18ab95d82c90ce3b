#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/tests/datasets/dataset_support.h>

namespace nyala {
namespace {

Numbers sorted(Numbers values) {
  std::sort(values.begin(), values.end());
  return values;
}

TEST(DatasetOrderTest, ShuffleIsAPermutationBySeedAndEpoch) {
  const Dataset data = range(100).shuffle(100, {.seed = 5});
  const Numbers first = all_of(data, {.epoch = 0}), second = all_of(data, {.epoch = 1});
  EXPECT_EQ(sorted(first), count_to(100));
  EXPECT_NE(first, count_to(100));
  EXPECT_NE(first, second);
  EXPECT_EQ(sorted(second), count_to(100));
  EXPECT_EQ(all_of(range(100).shuffle(100, {.seed = 5}), {.epoch = 1}), second)
      << "seed and epoch fix the order";
  EXPECT_NE(all_of(range(100).shuffle(100, {.seed = 6}), {.epoch = 1}), second);
}

TEST(DatasetOrderTest, EachIterationIsTheNextEpochUnlessOneIsNamed) {
  const Dataset data = range(50).shuffle(50, {.seed = 5}), copy = data;
  const Numbers first = all_of(data), second = all_of(copy), third = all_of(data);
  EXPECT_EQ(first, all_of(data, {.epoch = 0}));
  EXPECT_EQ(second, all_of(data, {.epoch = 1}));
  EXPECT_EQ(third, all_of(data, {.epoch = 2}));
  const Dataset fixed = range(50).shuffle(50, {.seed = 5, .reshuffle_each_iteration = false});
  EXPECT_EQ(all_of(fixed), all_of(fixed));
}

TEST(DatasetOrderTest, WithoutASeedTheGlobalSeedFixesTheOrder) {
  const auto order = [](uint64_t seed) {
    set_random_seed(seed);
    const Numbers first = all_of(range(60).shuffle(60)), second = all_of(range(60).shuffle(60));
    EXPECT_NE(first, second) << "two shuffles are two draws";
    return joined({first, second});
  };
  EXPECT_EQ(order(1), order(1));
  EXPECT_NE(order(1), order(2));
}

TEST(DatasetOrderTest, ASmallBufferMovesElementsForwardByLessThanItsSize) {
  for (const int64_t buffer : {1, 2, 7}) {
    const Numbers order = all_of(range(200).shuffle(buffer, {.seed = 3}));
    EXPECT_EQ(sorted(order), count_to(200));
    for (size_t i = 0; i < order.size(); ++i) EXPECT_LE(order[i], static_cast<int64_t>(i) + buffer - 1);
    EXPECT_EQ(order == count_to(200), buffer == 1);
  }
  EXPECT_THROW(range(3).shuffle(0), InvalidArgumentError);
}

TEST(DatasetOrderTest, AFullShuffleIsUniform) {
  // All 24 orders of 4 elements, 9600 draws: chi-square with 23 degrees of freedom, 99.99 % below 58.6.
  std::map<Numbers, int> counts;
  const Dataset data = range(4).shuffle(4, {.seed = 11});
  for (int64_t epoch = 0; epoch < 9600; ++epoch) ++counts[all_of(data, {.epoch = epoch})];
  EXPECT_EQ(counts.size(), 24u);
  double chi_square = 0;
  for (const auto& [order, count] : counts) chi_square += std::pow(count - 400, 2) / 400;
  EXPECT_LT(chi_square, 58.6);
}

TEST(DatasetOrderTest, RowsAndElementsComeInTheSameOrder) {
  // With a map in front nothing knows the rows, so the second pipeline shuffles and stacks elements.
  const auto pipelines = {
      +[](const Dataset& d) { return d.shuffle(40, {.seed = 1}).batch(6); },
      +[](const Dataset& d) { return d.shuffle(5, {.seed = 1}).batch(6, {.drop_remainder = true}); },
      +[](const Dataset& d) { return d.skip(3).shuffle(9, {.seed = 1}).take(21).shard(2, 1).batch(4); },
      +[](const Dataset& d) { return d.shuffle(100, {.seed = 1}).repeat(3).batch(7); },
      +[](const Dataset& d) { return d.repeat().shuffle(10, {.seed = 1}).batch(7).take(20); },
  };
  for (const auto& pipeline : pipelines)
    for (const int64_t epoch : {0, 4})
      EXPECT_EQ(elements_of(pipeline(range(40)).iterate({.epoch = epoch})),
                elements_of(pipeline(mapped_range(40)).iterate({.epoch = epoch})));
}

TEST(DatasetOrderTest, RepeatedPassesAreTheEpochs) {
  const Dataset data = range(20).shuffle(20, {.seed = 4});
  const Numbers endless = all_of(data.repeat().take(60), {.epoch = 0});
  const Numbers epochs =
      joined({all_of(data, {.epoch = 0}), all_of(data, {.epoch = 1}), all_of(data, {.epoch = 2})});
  EXPECT_EQ(endless, epochs);
  EXPECT_EQ(all_of(data.repeat(3), {.epoch = 0}), epochs);
  EXPECT_NE(all_of(data.repeat(3), {.epoch = 1}), epochs);
}

TEST(DatasetOrderTest, SkippingIsFetchingAndForgetting) {
  const auto plus_one = [](Tensor x) { return Tensor::scalar<int64_t>(x.data<int64_t>()[0] + 1); };
  const std::vector<Dataset> pipelines = {
      range(23),
      generated(23),
      range(23).batch(4),
      range(23).batch(4, {.drop_remainder = true}),
      mapped_range(23).batch(4),
      mapped_range(23).batch(4, {.drop_remainder = true}),
      range(23).shuffle(23, {.seed = 1}).batch(4),
      range(23).shuffle(6, {.seed = 1}).repeat(3).batch(4),
      range(5).repeat(6).take(27),
      range(23).map(plus_one).batch(2),
      range(23).map(plus_one, {.num_parallel_calls = 3}),
      range(23).batch(2).prefetch(3),
      range(23).skip(4).shard(3, 2),
      generated(23).skip(4).shard(3, 2),
      range(23).filter([](Tensor x) { return x.data<int64_t>()[0] % 3 != 0; }),
      Dataset::zip({range(23), generated(30)}),
      range(4).interleave([](const Element&) { return range(5); }, {.cycle_length = 3, .block_length = 2}),
  };
  for (size_t p = 0; p < pipelines.size(); ++p) {
    const auto all = elements_of(pipelines[p].iterate({.epoch = 2}));
    const auto size = static_cast<int64_t>(all.size());
    for (int64_t before = 0; before <= size; before += 2) {
      for (int64_t count : {int64_t{0}, int64_t{1}, int64_t{5}, size}) {
        DatasetIterator iterator = pipelines[p].iterate({.epoch = 2});
        Element e;
        for (int64_t i = 0; i < before; ++i) ASSERT_TRUE(iterator.next(e));
        const int64_t expected = std::min(count, size - before);
        EXPECT_EQ(iterator.skip(count), expected) << "pipeline " << p << " at " << before;
        EXPECT_EQ(iterator.position(), before + expected);
        EXPECT_EQ(elements_of(std::move(iterator)),
                  std::vector<Numbers>(all.begin() + before + expected, all.end()))
            << "pipeline " << p << " at " << before << " skipping " << count;
      }
    }
  }
  EXPECT_THROW(range(3).iterate().skip(-1), InvalidArgumentError);
}

TEST(DatasetOrderTest, SkippedElementsAreNotMapped) {
  int calls = 0;
  const Dataset data = range(100)
                           .shuffle(100)
                           .map([&calls](Element e) {
                             ++calls;
                             return e;
                           })
                           .batch(10);
  DatasetIterator iterator = data.iterate();
  EXPECT_EQ(iterator.skip(9), 9);
  EXPECT_EQ(calls, 0);
  Batch batch;
  EXPECT_TRUE(iterator.next(batch));
  EXPECT_EQ(calls, 10);
}

TEST(DatasetOrderTest, SkippingFarIntoAnEndlessDatasetIsCheap) {
  DatasetIterator iterator = range(1000).repeat().batch(10).iterate();
  EXPECT_EQ(iterator.skip(1'000'000'000'000), 1'000'000'000'000);
  Batch batch;
  ASSERT_TRUE(iterator.next(batch));
  EXPECT_EQ(values_of(batch.x[0])[0], 0);
}

TEST(DatasetOrderTest, RandomMapsDependOnSeedEpochAndPositionOnly) {
  const auto draw = [](Element e, DrawStream& random) {
    e.x[0] = Tensor::scalar(static_cast<int64_t>(random.next()));
    return e;
  };
  const auto numbers = [&](int calls, int64_t epoch) {
    return all_of(range(64).map(draw, {.num_parallel_calls = calls, .seed = 8}), {.epoch = epoch});
  };
  const Numbers expected = numbers(0, 3);
  EXPECT_EQ(numbers(1, 3), expected);
  EXPECT_EQ(numbers(5, 3), expected);
  EXPECT_NE(numbers(0, 4), expected);
  DatasetIterator iterator = range(64).map(draw, {.num_parallel_calls = 3, .seed = 8}).iterate({.epoch = 3});
  iterator.skip(60);
  EXPECT_EQ(joined(elements_of(std::move(iterator))), Numbers(expected.begin() + 60, expected.end()));
}

}  // namespace
}  // namespace nyala
