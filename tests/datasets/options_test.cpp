#include <atomic>
#include <numeric>

#include <gmock/gmock.h>

#include <nyala/datasets/base/dataset.h>
#include <nyala/datasets/base/partial_batches.h>
#include <nyala/tests/support/error_text.h>

namespace nyala {
namespace {

Tensor range(int64_t count) {
  std::vector<int64_t> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return Tensor::from(numbers);
}

/// 0, 1, ..., of which nobody knows how many there are.
Dataset counted(int64_t count) {
  return Dataset::from_generator([count] {
    return [count, next = int64_t{0}](Element& out) mutable {
      if (next == count) return false;
      out.x = {Tensor::scalar(next++)};
      return true;
    };
  });
}

TEST(DatasetOptions, HoldForWhatIsMadeOfTheDataset) {
  const Dataset plain = Dataset::from_tensor_slices(range(6));
  EXPECT_EQ(plain.options().experimental_distribute.auto_shard_policy, AutoShardPolicy::automatic);
  const Dataset off = plain.with_options({{AutoShardPolicy::off}}).shuffle(3).batch(2).prefetch().take(2);
  EXPECT_EQ(off.options().experimental_distribute.auto_shard_policy, AutoShardPolicy::off);
  EXPECT_EQ(off.with_options({{AutoShardPolicy::data}}).options().experimental_distribute.auto_shard_policy,
            AutoShardPolicy::data);
  const Dataset same = plain.batch(4).with_options({{AutoShardPolicy::file}});
  EXPECT_EQ(same.cardinality(), 2);
  EXPECT_EQ(same.is_batched(), true);
  std::vector<std::vector<int64_t>> rows;
  for (const Batch& batch : same) rows.push_back(batch.x[0].to_vector<int64_t>());
  EXPECT_EQ(rows, (std::vector<std::vector<int64_t>>{{0, 1, 2, 3}, {4, 5}}));
}

TEST(ShardHint, GivesAllWhereNobodyFollowsIt) {
  const Dataset hinted = counted(5).shard(kShardHint, kShardHint).batch(3);
  std::vector<std::vector<int64_t>> rows;
  for (const Batch& batch : hinted) rows.push_back(batch.x[0].to_vector<int64_t>());
  EXPECT_EQ(rows, (std::vector<std::vector<int64_t>>{{0, 1, 2}, {3, 4}}));
  EXPECT_THROW((void)counted(5).shard(kShardHint, 0), InvalidArgumentError);
  EXPECT_THROW((void)counted(5).shard(2, kShardHint), InvalidArgumentError);
}

/// The rows of the second of two processes; others come as far as the hint.
TEST(ShardHint, LeavesOutTheRowsOfOthers) {
  for (const int calls : {0, 2}) {
    std::atomic<int> mapped{0};
    const Dataset with_draws = counted(8)
                                   .shard(kShardHint, kShardHint)
                                   .map(
                                       [&](Element element, DrawStream& draws) {
                                         ++mapped;
                                         element.y = {Tensor::scalar(draws.uniform())};
                                         return element;
                                       },
                                       {.num_parallel_calls = calls, .seed = 3})
                                   .batch(3)
                                   .prefetch(2)
                                   .with_options({{AutoShardPolicy::hint}});
    std::vector<double> draws;
    for (const Batch& batch : with_draws)
      for (const double draw : batch.y[0].to_vector<double>()) draws.push_back(draw);
    mapped = 0;
    const auto* const node = dynamic_cast<const PartialBatches*>(with_draws.node().get());
    ASSERT_NE(node, nullptr);
    const auto parts = node->parts({.epoch = 0, .hint = std::make_shared<ShardHint*>()}, [](int64_t rows) {
      const int64_t first = (rows + 1) / 2;
      return std::pair(first, rows - first);
    });
    std::vector<std::vector<int64_t>> rows;
    size_t place = 0;
    for (PartOfBatch part; parts->next(part); place += static_cast<size_t>(part.batch_rows)) {
      rows.push_back(part.rows.x[0].to_vector<int64_t>());
      for (size_t i = 0; i < rows.back().size(); ++i)
        EXPECT_EQ(part.rows.y[0].to_vector<double>()[i], draws[place + static_cast<size_t>(part.first) + i]);
    }
    EXPECT_EQ(rows, (std::vector<std::vector<int64_t>>{{2}, {5}, {7}}));
    if (calls == 0) EXPECT_EQ(mapped, 3);
  }
}

TEST(ShardHint, HasToStandInFrontOfBatch) {
  const auto parts_of = [](const Dataset& dataset) {
    const auto* const node = dynamic_cast<const PartialBatches*>(dataset.node().get());
    return node->parts({.hint = std::make_shared<ShardHint*>()},
                       [](int64_t rows) { return std::pair<int64_t, int64_t>(0, rows); });
  };
  expect_error([&] { parts_of(counted(5).batch(3)); },
               {"AutoShardPolicy::hint: expected shard(kShardHint, kShardHint) in front of batch()"});
  expect_error([&] { parts_of(counted(5).shard(kShardHint, kShardHint).shuffle(3).batch(3)); },
               {"nothing but map() and prefetch() between them"});
}

}  // namespace
}  // namespace nyala
