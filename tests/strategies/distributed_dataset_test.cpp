#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/tests/strategies/strategy_kinds.h>

namespace nyala {

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Tensor range(int64_t count) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(i));
  return Tensor::from(values);
}

using Steps = std::vector<std::vector<std::vector<float>>>;

Steps steps_of(const DistributedDataset& dataset) {
  Steps steps;
  for (const DistributedBatch& batch : dataset) {
    steps.emplace_back();
    int64_t rows = 0;
    for (const Batch& part : batch.parts) {
      steps.back().push_back(numbers(part.x[0]));
      rows += part.x[0].shape()[0];
    }
    EXPECT_EQ(rows, batch.rows);
  }
  return steps;
}

class Input : public OnStrategies {};

TEST_P(Input, EachRowComesOnceAndBatchBordersAreKept) {
  const Strategy under_test = strategy();
  for (const int64_t rows : {1, 5, 8, 13}) {
    const auto steps = steps_of(under_test.distribute(Dataset::from_tensor_slices(range(rows)).batch(4)));
    float next = 0;
    for (const auto& step : steps) {
      size_t previous = 4;
      for (const auto& part : step) {
        EXPECT_LE(part.size(), previous);
        previous = part.size();
        for (const float value : part) EXPECT_EQ(value, next++);
      }
      EXPECT_LE(step.front().size() - step.back().size(), 1u);
    }
    EXPECT_EQ(next, static_cast<float>(rows));
    EXPECT_EQ(steps.size(), static_cast<size_t>((rows + 3) / 4));
  }
}

TEST_P(Input, AFunctionsBatchesGoToTheReplicasInTurn) {
  const Strategy under_test = strategy();
  const DistributedDataset dataset =
      under_test.distribute_datasets_from_function([&](const InputContext& context) {
        EXPECT_EQ(context.num_input_pipelines, 1);
        EXPECT_EQ(context.input_pipeline_id, 0);
        EXPECT_EQ(context.num_replicas_in_sync, replicas());
        EXPECT_EQ(context.get_per_replica_batch_size(12), 12 / replicas());
        return Dataset::from_tensor_slices(range(9)).batch(2);
      });
  const int64_t expected = (5 + replicas() - 1) / replicas();
  EXPECT_EQ(dataset.cardinality(), expected);
  for (int walk = 0; walk < 2; ++walk) {
    const auto steps = steps_of(dataset);
    ASSERT_EQ(steps.size(), static_cast<size_t>(expected));
    float next = 0;
    for (const auto& step : steps)
      for (const auto& part : step)
        for (const float value : part) EXPECT_EQ(value, next++);
    EXPECT_EQ(next, 9);
  }
  for (const DistributedBatch& batch : dataset)
    for (int id = 0; id < replicas(); ++id)
      EXPECT_EQ(batch.parts[static_cast<size_t>(id)].x[0].device(), under_test.node().device(id));
}

TEST_P(Input, UnbatchedDatasetsAreRefused) {
  const Strategy under_test = strategy();
  const Dataset rows = Dataset::from_tensor_slices(range(9));
  EXPECT_THAT(error_text<InvalidArgumentError>([&] { (void)under_test.distribute(rows); }),
              HasSubstr("all replicas"));
  EXPECT_THAT(error_text<InvalidArgumentError>([&] {
                (void)under_test.distribute_datasets_from_function([&](const InputContext&) { return rows; });
              }),
              HasSubstr("each replica"));
}

INSTANTIATE_TEST_SUITE_P(Kinds, Input, ::testing::ValuesIn(strategy_kinds()), kind_name);

TEST(InputContext, GlobalBatchesHaveToDivide) {
  const InputContext context{2, 1, 6};
  EXPECT_EQ(context.get_per_replica_batch_size(36), 6);
  EXPECT_EQ(context.get_per_replica_batch_size(0), 0);
  EXPECT_THAT(error_text<InvalidArgumentError>([&] { (void)context.get_per_replica_batch_size(37); }),
              AllOf(HasSubstr("37"), HasSubstr("6 replicas")));
}

}  // namespace

}  // namespace nyala
