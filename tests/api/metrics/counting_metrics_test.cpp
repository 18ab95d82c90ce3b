#include <cmath>

#include <gtest/gtest.h>

#include <nyala/api/metrics/all.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/device_registry.h>

// Metrics that count: AUC, what it is made of, F scores, R2 and intersection over union.
namespace nyala {
namespace {

Tensor floats(const std::vector<float>& values, const Shape& shape) { return Tensor::from(values, shape); }

double after(Metric metric, const Tensor& y, const Tensor& p, const Tensor& weights = {}) {
  metric.update_state(y, p, weights);
  return metric.result();
}

/// One of every kind, with targets and predictions of a number of rows.
std::vector<Metric> every_kind() {
  return {AUC(),
          AUC({.curve = "PR"}),
          AUC({.thresholds = {.2, .6}}),
          AUC({.multi_label = true, .label_weights = {1, 2, 3}}),
          AUC({.label_weights = {1, 2, 3}, .from_logits = true}),
          SensitivityAtSpecificity(0.5),
          SpecificityAtSensitivity(0.5),
          PrecisionAtRecall(0.5, {.class_id = 1}),
          RecallAtPrecision(0.5),
          TruePositives({.thresholds = {.1, .4}}),
          FalseNegatives(),
          F1Score({.average = "weighted"}),
          FBetaScore({.beta = 2.0, .threshold = 0.4}),
          R2Score({.class_aggregation = "variance_weighted_average"}),
          BinaryIoU(),
          MeanIoU({.num_classes = 2, .sparse_y_true = true}),
          OneHotIoU({.num_classes = 3, .target_class_ids = {0, 2}}),
          metrics::CosineSimilarity(),
          PearsonCorrelation(),
          metrics::KLDivergence()};
}

struct Rows {
  Tensor y, p, w;
};

Rows rows(int64_t count) {
  std::vector<float> y, p, w;
  for (int64_t i = 0; i < 3 * count; ++i) {
    y.push_back(i % 7 % 3 == 0 ? 1.0f : 0.0f);
    p.push_back(static_cast<float>(0.5 + 0.49 * std::sin(1.7 * static_cast<double>(i))));
    if (i % 3 == 0) w.push_back(0.5f + static_cast<float>(i % 4));
  }
  return {floats(y, {count, 3}), floats(p, {count, 3}), floats(w, {count})};
}

std::vector<double> sums_of(const Metric& metric, const Rows& r) {
  const Metric definite = metric.resolved(r.y.shape(), r.p.shape());
  const std::vector<double> sums = definite.node().update(r.y, r.p, r.w).to_vector<double>();
  EXPECT_EQ(static_cast<int64_t>(sums.size()), definite.node().state_size()) << metric.name();
  return sums;
}

TEST(CountingMetrics, SumsOverRowsSoThatReplicasAdd) {
  const Rows all = rows(9);
  for (const Metric& metric : every_kind()) {
    const std::vector<double> whole = sums_of(metric, all);
    std::vector<double> parts(whole.size());
    for (const auto& [first, count] : std::vector<std::pair<int64_t, int64_t>>{{0, 4}, {4, 0}, {4, 5}}) {
      const Rows part{all.y.rows(first, count), all.p.rows(first, count), all.w.rows(first, count)};
      const std::vector<double> own = sums_of(metric, part);
      ASSERT_EQ(own.size(), parts.size()) << metric.name();
      for (size_t i = 0; i < own.size(); ++i) parts[i] += own[i];
    }
    for (size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(parts[i], whole[i], 1e-9) << metric.name();
  }
}

TEST(CountingMetrics, TheGhostDeviceGivesTheNumbersOfTheCpu) {
  enable_ghost_device();
  const Device ghost = "ghost:0";
  const Rows here = rows(5), there{here.y.to(ghost), here.p.to(ghost), here.w.to(ghost)};
  for (const Metric& metric : every_kind()) {
    const std::vector<double> expected = sums_of(metric, here), got = sums_of(metric, there);
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-5) << metric.name();
  }
}

TEST(CountingMetrics, AucByHand) {
  const Tensor y = floats({0, 0, 1, 1}, {4}), p = floats({0, .5f, .3f, .9f}, {4});
  EXPECT_NEAR(after(AUC({.num_thresholds = 3}), y, p), 0.75, 1e-12);
  EXPECT_NEAR(after(AUC({.num_thresholds = 3}), y, p, floats({1, 0, 0, 1}, {4})), 1.0, 1e-12);
  EXPECT_EQ(after(AUC(), floats({1, 1}, {2}), floats({.2f, .8f}, {2})), 0.0) << "no negatives: no area";
  EXPECT_EQ(AUC().result(), 0.0);
}

TEST(CountingMetrics, ABoundIsMetExactly) {
  const Tensor y = floats({0, 0, 0, 0, 0, 1, 1, 1, 1, 1}, {10});
  const Tensor p = floats({0, .3f, .8f, .3f, .4f, .1f, .2f, .2f, .2f, .2f}, {10});
  EXPECT_NEAR(after(SensitivityAtSpecificity(0.2), y, p), 1.0, 1e-12) << "1 of 5 negatives is 0.2";
  EXPECT_NEAR(after(SensitivityAtSpecificity(0.21), y, p), 0.0, 1e-12);
}

TEST(CountingMetrics, SeveralResults) {
  F1Score score;
  score.update_state(floats({1, 0, 0, 1, 0, 1}, {3, 2}), floats({.9f, .1f, .8f, .2f, .3f, .7f}, {3, 2}));
  ASSERT_EQ(score.results().size(), 2u);
  EXPECT_NEAR(score.results()[0], 2.0 / 3, 1e-6);
  EXPECT_NEAR(score.results()[1], 2.0 / 3, 1e-6);
  score.reset_state();
  EXPECT_EQ(score.results(), (std::vector<double>{0.0, 0.0}));
}

TEST(CountingMetrics, WhatTheyRefuse) {
  EXPECT_THROW(AUC({.num_thresholds = 1}), InvalidArgumentError);
  EXPECT_THROW(AUC({.curve = "RC"}), InvalidArgumentError);
  EXPECT_THROW(AUC({.summation_method = "maxing"}), InvalidArgumentError);
  EXPECT_THROW(AUC({.num_labels = 2}), InvalidArgumentError);
  EXPECT_THROW(AUC({.multi_label = true}).resolved({4}, {4}), ShapeError);
  EXPECT_THROW(AUC({.multi_label = true, .num_labels = 3}).resolved({4, 2}, {4, 2}), ShapeError);
  EXPECT_THROW(after(AUC({.label_weights = {1, 2}}), Tensor::zeros({2, 3}), Tensor::zeros({2, 3})),
               ShapeError);
  EXPECT_THROW(SensitivityAtSpecificity(1.5), InvalidArgumentError);
  EXPECT_THROW(SensitivityAtSpecificity(0.5, {.num_thresholds = 0}), InvalidArgumentError);
  EXPECT_THROW(after(PrecisionAtRecall(), Tensor::zeros({2}), Tensor::zeros({2})), InvalidArgumentError);
  EXPECT_THROW(TruePositives({.thresholds = {2}}), InvalidArgumentError);
  EXPECT_THROW(F1Score({.average = "makro"}), InvalidArgumentError);
  EXPECT_THROW(FBetaScore({.beta = 0}), InvalidArgumentError);
  EXPECT_THROW(F1Score({.threshold = 1.5}), InvalidArgumentError);
  EXPECT_THROW(after(F1Score(), Tensor::zeros({2}), Tensor::zeros({2})), ShapeError);
  EXPECT_THROW(R2Score({.class_aggregation = "mean"}), InvalidArgumentError);
  EXPECT_THROW(R2Score({.num_regressors = -1}), InvalidArgumentError);
  EXPECT_THROW(IoU({.num_classes = 2, .target_class_ids = {2}}), InvalidArgumentError);
  EXPECT_THROW(after(MeanIoU(), Tensor::zeros({2}), Tensor::zeros({2})), InvalidArgumentError);
}

}  // namespace
}  // namespace nyala
