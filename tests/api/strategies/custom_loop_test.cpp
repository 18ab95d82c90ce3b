// A user's own loop over a distributed Dataset: every replica sees its rows, results come back in replica
// order.
#include <gtest/gtest.h>

#include <nyala/nyala.h>

namespace nyala {
namespace {

MirroredStrategy three_devices() {
  configure_logical_devices("cpu", 3);
  return MirroredStrategy({.devices = {"cpu:0", "cpu:1", "cpu:2"}});
}

Tensor counting(int64_t rows) {
  std::vector<float> values(static_cast<size_t>(rows) * 2);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  return Tensor(values, {rows, 2});
}

TEST(CustomLoop, EveryReplicaSeesItsRowsOfEveryBatch) {
  const MirroredStrategy strategy = three_devices();
  const Dataset dataset = Dataset::from_tensor_slices(counting(11)).batch(4);
  std::vector<std::vector<int64_t>> rows;
  for (const DistributedBatch& batch : strategy.distribute(dataset)) {
    rows.emplace_back();
    for (const Batch& part : batch.parts) rows.back().push_back(part.x[0].shape()[0]);
  }
  EXPECT_EQ(rows, (std::vector<std::vector<int64_t>>{{2, 1, 1}, {2, 1, 1}, {1, 1, 1}}));
}

TEST(CustomLoop, RunGathersAndReducesInReplicaOrder) {
  const MirroredStrategy strategy = three_devices();
  const Tensor x = counting(5);
  const DistributedBatch batch = strategy.distribute(Batch{.x = {x}});
  const PerReplica doubled = strategy.run([](const Batch& part) { return part.x[0] * 2.0; }, batch);
  EXPECT_EQ(strategy.gather(doubled).to_vector<float>(), (x * 2.0).to_vector<float>());
  const PerReplica sums =
      strategy.run([](Replica&, const Batch& part) { return ops::sum(part.x[0]); }, batch);
  EXPECT_EQ(strategy.reduce(ReduceOp::sum, sums).item(), 45.0);
  EXPECT_EQ(strategy.reduce(ReduceOp::mean, sums).item(), 15.0);
}

TEST(CustomLoop, AModelCalledInsideRunReadsItsReplicasWeights) {
  configure_logical_devices("cpu", 2);
  const MirroredStrategy strategy({.devices = {"cpu:0", "cpu:1"}, .shared_weights = SharedWeights::never});
  const auto model = strategy.scope([] {
    return Sequential({Input({2}), Dense(3, {.activation = "relu"})});
  });
  const Tensor x = counting(5);
  const PerReplica parts =
      strategy.run([&](const Batch& part) { return model(part.x[0]); }, strategy.distribute(Batch{.x = {x}}));
  EXPECT_EQ(strategy.gather(parts).to_vector<float>(), model.predict(x, {.verbose = 0}).to_vector<float>());
}

TEST(CustomLoop, AnUnbatchedDatasetIsRefused) {
  const MirroredStrategy strategy = three_devices();
  EXPECT_THROW(strategy.distribute(Dataset::from_tensor_slices(counting(4))), InvalidArgumentError);
}

}  // namespace
}  // namespace nyala
