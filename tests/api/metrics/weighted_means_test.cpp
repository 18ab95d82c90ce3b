// Weights that hold for all rows, and metrics of plain values. Numbers of Keras 3.15.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/nyala.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/support/mirrored.h>

namespace nyala {
namespace {

using ::testing::HasSubstr;

const Tensor kTrue = Tensor::from<float>({0, 1, 0, 0, 1}, {5, 1});
const Tensor kPredicted = Tensor::from<float>({.1f, .9f, .8f, .3f, .6f}, {5, 1});

class WeightedMeans : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { configure_logical_devices("cpu", 3); }
};

TEST_F(WeightedMeans, OneWeightHoldsForAllRows) {
  const std::vector<std::pair<Metric, double>> metrics = {{metrics::MeanSquaredError(), 0.182},
                                                          {metrics::MeanAbsoluteError(), 0.34},
                                                          {metrics::RootMeanSquaredError(), 0.4266146},
                                                          {metrics::BinaryAccuracy(), 0.8},
                                                          {metrics::BinaryCrossentropy(), 0.537532}};
  for (const Tensor& weight : {Tensor(3.0), Tensor({3.0}), Tensor({{3.0}})})
    for (const auto& [metric, expected] : metrics) {
      metric.reset_state();
      metric.update_state(kTrue, kPredicted, weight);
      EXPECT_NEAR(metric.result(), expected, 1e-6) << metric.name() << weight.shape().to_string();
      for (int count : {1, 2, 3}) {
        const MirroredStrategy strategy = mirrored(count);
        metric.reset_state();
        for (const DistributedBatch& batch :
             strategy.distribute(Dataset::from_tensor_slices(kPredicted, kTrue).batch(4)))
          strategy.run([&](const Batch& part) { metric.update_state(part.y[0], part.x[0], weight); }, batch);
        EXPECT_NEAR(metric.result(), expected, 1e-6) << metric.name() << count;
      }
    }
}

TEST_F(WeightedMeans, OneWeightOfClassNumbers) {
  const Tensor scores =
      Tensor::from<float>({.1f, .7f, .2f, .5f, .3f, .2f, .2f, .2f, .6f, .3f, .4f, .3f}, {4, 3});
  const Tensor labels = Tensor::from<int64_t>({1, 1, 2, 0});
  for (const Tensor& weight : {Tensor(3.0), Tensor({3.0}), Tensor({{3.0}})})
    for (const auto& [metric, expected] :
         std::vector<std::pair<Metric, double>>{{metrics::SparseCategoricalAccuracy(), 0.5},
                                                {metrics::SparseTopKCategoricalAccuracy(2), 1.0},
                                                {metrics::SparseCategoricalCrossentropy(), 0.8188615}}) {
      metric.update_state(labels, scores, weight);
      EXPECT_NEAR(metric.result(), expected, 1e-6) << metric.name();
    }
}

TEST_F(WeightedMeans, ValuesAndTheirWeights) {
  const metrics::Mean mean;
  const metrics::Sum sum;
  const auto expect = [&](double mean_of_all, double sum_of_all) {
    EXPECT_NEAR(mean.result(), mean_of_all, 1e-6);
    EXPECT_NEAR(sum.result(), sum_of_all, 1e-6);
    mean.reset_state();
    sum.reset_state();
  };
  const auto update = [&](const Tensor& values, const Tensor& weights) {
    mean.update_state(values, weights);
    sum.update_state(values, weights);
  };
  update(Tensor({1.0, 2.0, 3.0}), Tensor({0.5, 0.0, 1.0}));
  expect(3.5 / 1.5, 3.5);
  update(Tensor({1.0, 2.0, 3.0}), Tensor(2.0));
  expect(2.0, 12.0);
  update(Tensor(3.0), Tensor(4.0));
  update(Tensor(1.0), Tensor(1.0));
  expect(2.6, 13.0);
  update(Tensor({{1.0, 2.0}, {3.0, 5.0}}), Tensor({1.0, 3.0}));
  expect(3.375, 27.0);
  EXPECT_THROW(mean.update_state(kTrue, kPredicted, Tensor(1.0)), InvalidArgumentError);
  const Sequential model({Input({1}), Dense(1)});
  model.compile(
      {.optimizer = "sgd", .loss = "mse", .metrics = {metrics::Mean()}});  // no metric of y_true, y_pred
  EXPECT_THROW(model.train_on_batch(kPredicted, kTrue), InvalidArgumentError);
}

/// A scalar in a loop of one's own: whose mean it is, its weight says.
TEST_F(WeightedMeans, AScalarOfAReplicaSaysForHowManyRowsItStands) {
  const Tensor x = Tensor::arange(5);
  for (int count : {2, 3}) {
    const MirroredStrategy strategy = mirrored(count);
    const metrics::Mean mean;
    for (const DistributedBatch& batch : strategy.distribute(Dataset::from_tensor_slices(x).batch(4))) {
      strategy.run(
          [&](const Batch& part) {
            const Tensor& rows = part.x[0];
            mean.update_state(ops::mean(rows), Tensor(static_cast<double>(rows.shape()[0])));
          },
          batch);
      EXPECT_THAT(error_text<InvalidArgumentError>([&] {
                    strategy.run([&](const Batch& part) { mean.update_state(ops::sum(part.x[0])); }, batch);
                  }),
                  HasSubstr("metric 'mean': inside a Strategy::run of one's own expected values of rows"));
    }
    EXPECT_NEAR(mean.result(), 2.0, 1e-6) << count;
  }
}

}  // namespace
}  // namespace nyala
