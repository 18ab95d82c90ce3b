#include <cmath>

#include <gtest/gtest.h>

#include <nyala/api/losses/all.h>
#include <nyala/api/metrics/all.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/reduction/metric_updates.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/backend/runtime/device_registry.h>

namespace nyala::metrics_test {
namespace {

Tensor floats(const std::vector<float>& values, const Shape& shape) { return Tensor::from(values, shape); }

TEST(MetricsOfNames, PendingOnesAreResolvedByShapes) {
  Metric accuracy = "acc";
  EXPECT_TRUE(accuracy.is_pending());
  EXPECT_EQ(accuracy.name(), "acc");
  EXPECT_EQ(accuracy.resolved({8}, {8, 3}).node().class_name(), "SparseCategoricalAccuracy");
  EXPECT_EQ(accuracy.resolved({8, 3}, {8, 3}).node().class_name(), "CategoricalAccuracy");
  EXPECT_EQ(accuracy.resolved({8}, {8, 1}).node().class_name(), "BinaryAccuracy");
  EXPECT_EQ(accuracy.resolved({8}, {8, 1}).name(), "acc");
  EXPECT_EQ(Metric("ce").resolved({8, 1}, {8, 3}).node().class_name(), "SparseCategoricalCrossentropy");
  accuracy.update_state(Tensor::from<int64_t>({0, 1}), floats({.9f, .1f, .8f, .2f}, {2, 2}));
  EXPECT_EQ(accuracy.result(), 0.5);
}

TEST(MetricsOfNames, TheUsersStringIsShown) {
  EXPECT_EQ(Metric("mse").name(), "mse");
  EXPECT_EQ(Metric("mse").node().class_name(), "MeanSquaredError");
  EXPECT_EQ(Metric(metrics::MeanSquaredError()).name(), "mean_squared_error");
  EXPECT_EQ(Metric("mae").renamed("val").name(), "val");
  EXPECT_THROW(Metric("precison"), InvalidArgumentError);
  const Precision first, second;
  EXPECT_NE(first.name(), second.name());
  EXPECT_EQ(Precision({.name = "p"}).name(), "p");
}

TEST(MetricsOfNames, LossesAndFunctions) {
  Metric of_loss = MeanAbsoluteError({.name = "gap"});
  of_loss.update_state(floats({1, 2}, {2, 1}), floats({2, 5}, {2, 1}), floats({1, 3}, {2}));
  EXPECT_EQ(of_loss.name(), "gap");
  EXPECT_NEAR(of_loss.result(), (1 + 9) / 4.0, 1e-12);
  Metric of_function([](const Tensor& y_true, const Tensor& y_pred) { return y_true - y_pred; },
                     "difference");
  of_function.update_state(floats({4, 6}, {2}), floats({1, 1}, {2}));
  EXPECT_EQ(of_function.result(), 4.0);
  EXPECT_FALSE(of_function.node().has_direction());
  EXPECT_TRUE(Accuracy().node().larger_is_better());
  EXPECT_FALSE(Metric("mse").node().larger_is_better());
}

TEST(Metrics, HandlesShareTheirSums) {
  Mean mean;
  Metric copy = mean;
  copy.update_state(floats({1, 3}, {2}));
  EXPECT_EQ(mean.result(), 2.0);
  mean.reset_state();
  EXPECT_EQ(copy.result(), 0.0);
}

TEST(Metrics, SumsOfPiecesAreTheSumsOfTheWhole) {
  const int64_t rows = 37, classes = 5;
  std::vector<float> scores, weights;
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < rows * classes; ++i) scores.push_back(std::sin(static_cast<float>(i) * 1.7f));
  for (int64_t i = 0; i < rows; ++i)
    labels.push_back(i * 7 % classes), weights.push_back(0.1f * static_cast<float>(i % 9));
  const Tensor y = Tensor::from(labels), p = Tensor::from(scores, {rows, classes}), w = Tensor::from(weights);
  for (const Metric& metric : {Metric(SparseCategoricalAccuracy()), Metric(SparseTopKCategoricalAccuracy(2)),
                               Metric(metrics::SparseCategoricalCrossentropy({.from_logits = true}))}) {
    const std::vector<double> whole = metric.node().update(y, p, w).to_vector<double>();
    std::vector<double> sum(whole.size());
    for (const auto& [first, count] : {std::pair<int64_t, int64_t>{0, 13}, {13, 0}, {13, 20}, {33, 4}}) {
      const auto part =
          metric.node().update(y.rows(first, count), p.rows(first, count), w.rows(first, count));
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += part.to_vector<double>()[i];
    }
    for (size_t i = 0; i < sum.size(); ++i) EXPECT_NEAR(sum[i], whole[i], 1e-10) << metric.name();
  }
}

TEST(Metrics, TheGhostDeviceGivesTheNumbersOfTheCpu) {
  enable_ghost_device();
  const Device ghost = "ghost:0";
  const Tensor y = Tensor::from(std::vector<float>{0, 1, 1, 0, 1, 0}, {2, 3});
  const Tensor p = Tensor::from(std::vector<float>{.1f, .7f, .4f, .6f, .9f, .2f}, {2, 3}),
               w = floats({.5f, 2}, {2});
  for (const Metric& metric :
       {Metric(Precision({.thresholds = {.3, .5}})), Metric(Recall({.top_k = 2})), Metric(BinaryAccuracy()),
        Metric(CategoricalAccuracy()), Metric(TopKCategoricalAccuracy(2)), Metric(RootMeanSquaredError()),
        Metric(metrics::BinaryCrossentropy())}) {
    const auto here = metric.node().update(y, p, w).to_vector<double>();
    const auto there = metric.node().update(y.to(ghost), p.to(ghost), w.to(ghost)).to_vector<double>();
    ASSERT_EQ(here.size(), there.size());
    for (size_t i = 0; i < here.size(); ++i) EXPECT_NEAR(here[i], there[i], 1e-6) << metric.name();
  }
}

TEST(Metrics, WeightsOfAllShapes) {
  const Tensor values = floats({1, 2, 3, 4, 5, 6}, {2, 3});
  const auto mean_with = [&](const Tensor& weights) {
    Mean mean;
    mean.update_state(values, {}, weights);
    return mean.result();
  };
  EXPECT_NEAR(mean_with(floats({1, 3}, {2})), (2 + 3 * 5) / 4.0, 1e-12);
  EXPECT_NEAR(mean_with(floats({1, 3}, {2, 1})), (2 + 3 * 5) / 4.0, 1e-12);
  EXPECT_NEAR(mean_with(floats({1, 0, 0, 0, 0, 1}, {2, 3})), 7.0 / 2, 1e-12);
  EXPECT_NEAR(mean_with(floats({1, 0, 0}, {1, 3})), (1 + 4) / 2.0, 1e-12);
  EXPECT_THROW(mean_with(floats({1, 2, 3}, {3})), ShapeError);
}

TEST(Metrics, ManyThresholds) {
  std::vector<double> thresholds;
  for (int i = 0; i < 60; ++i) thresholds.push_back(i / 60.0);
  Precision precision({.thresholds = thresholds});
  precision.update_state(floats({1, 0, 1, 0}, {4}), floats({.9f, .5f, .3f, .05f}, {4}));
  const std::vector<double> results = precision.results();
  ASSERT_EQ(results.size(), 60u);
  EXPECT_EQ(results[0], 0.5);
  EXPECT_NEAR(results[10], 2.0 / 3, 1e-12);
  EXPECT_EQ(results[40], 1.0);
  EXPECT_EQ(results[59], 0.0) << "nothing is predicted: 0";
}

TEST(Metrics, TopKWithScoresThatAreNoNumbers) {
  const float inf = INFINITY;
  SparseTopKCategoricalAccuracy top(2);
  top.update_state(Tensor::from<int64_t>({0, 1, 7, -1}),
                   floats({1, inf, 0, 3, 2, 1, 1, 2, 3, 1, 2, 3}, {4, 3}));
  EXPECT_EQ(top.result(), 0.25);
}

TEST(Metrics, Validation) {
  EXPECT_THROW(Precision({.thresholds = {1.5}}), InvalidArgumentError);
  EXPECT_THROW(Recall({.top_k = -1}), InvalidArgumentError);
  EXPECT_THROW(TopKCategoricalAccuracy(0), InvalidArgumentError);
  EXPECT_THROW(Mean().update_state(floats({1}, {1}), floats({1}, {1}), floats({1}, {1})),
               InvalidArgumentError);
  EXPECT_THROW(Recall({.class_id = 4}).update_state(Tensor::zeros({2, 3}), Tensor::zeros({2, 3})),
               ShapeError);
  EXPECT_THROW(Accuracy().update_state(Tensor::zeros({2, 3}), Tensor::zeros({2, 4})), ShapeError);
  EXPECT_THROW(Metric("accuracy").update_state(Tensor::zeros({2})), StateError);
}

}  // namespace
}  // namespace nyala::metrics_test
