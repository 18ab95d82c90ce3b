// What metrics and weighted metrics are called in logs: the names of Keras 3.15 for the same compile().
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/api/layers/core/dense.h>
#include <nyala/api/metrics/all.h>
#include <nyala/api/model/model.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/reduction/reduction.h>

namespace nyala {
namespace {

using Names = std::vector<std::string>;

Tensor fq(const Tensor& y_true, const Tensor& y_pred) { return ops::mean(ops::square(y_true - y_pred), -1); }

Model with_outputs(bool two) {
  const Input x({3});
  const Tensor tag = Dense(1, {.name = "tag"})(x), b = Dense(1, {.name = "b"})(x);
  return two ? Model(x, Tensors{tag, b}) : Model(x, tag);
}

/// In alphabetical order, as fit gives them.
Names names(bool two, CompileConfig config) {
  const Model model = with_outputs(two);
  config.loss = "mse";
  model.compile(config);
  const Tensor x = Tensor::ones({6, 3}), y = Tensor::ones({6, 1});
  const History history =
      model.fit({x}, two ? Tensors{y, y} : Tensors{y}, {.verbose = 0, .sample_weight = Tensor::ones({6})});
  Names out;
  for (const auto& entry : history.history()) out.push_back(entry.first);
  return out;
}

TEST(MetricNames, OfOneOutput) {
  EXPECT_EQ(names(false, {.metrics = {"mae"}, .weighted_metrics = {"mae"}}),
            (Names{"loss", "mae", "weighted_mae"}));
  EXPECT_EQ(names(false, {.metrics = {"accuracy", "mae", "mae"},
                          .weighted_metrics = {"accuracy", "mae", "mae", "mae"}}),
            (Names{"accuracy", "loss", "mae", "mae_1", "weighted_accuracy", "weighted_mae", "weighted_mae_1",
                   "weighted_mae_2"}));
  EXPECT_EQ(names(false, {.metrics = {Metric(fq, "fq")}, .weighted_metrics = {Metric(fq, "fq")}}),
            (Names{"fq", "loss", "weighted_fq"}));
  EXPECT_EQ(names(false, {.metrics_by_output = {{"tag", {"mae"}}},
                          .weighted_metrics_by_output = {{"tag", {"mae"}}}}),
            (Names{"loss", "mae", "weighted_mae"}));
}

TEST(MetricNames, OfSeveralOutputs) {
  EXPECT_EQ(names(true, {.metrics = {"mae", "mse"}, .weighted_metrics = {"mae", "mse"}}),
            (Names{"b_loss", "b_mse", "b_weighted_mse", "loss", "tag_loss", "tag_mae", "tag_weighted_mae"}));
  EXPECT_EQ(
      names(true,
            {.metrics_by_output = {{"tag", {"mae", "mae"}}, {"b", {"mae"}}},
             .weighted_metrics_by_output = {{"tag", {"mae"}},
                                            {"b", {"mae", metrics::MeanAbsoluteError({.name = "q"})}}}}),
      (Names{"b_loss", "b_mae", "b_q", "b_weighted_mae", "loss", "tag_loss", "tag_mae", "tag_mae_1",
             "tag_weighted_mae"}));
}

TEST(MetricNames, OfSeveralOutputsByName) {
  EXPECT_EQ(
      names(true, {.metrics_by_output = {{"tag", {"accuracy", "mae"}}, {"b", {"mae"}}},
                   .weighted_metrics_by_output = {{"tag", {"accuracy", "accuracy"}},
                                                  {"b", {"mae", "mae", "mae"}}}}),
      (Names{"b_loss", "b_mae", "b_weighted_mae", "b_weighted_mae_1", "b_weighted_mae_2", "loss",
             "tag_accuracy", "tag_loss", "tag_mae", "tag_weighted_accuracy", "tag_weighted_accuracy_1"}));
  EXPECT_EQ(
      names(true, {.metrics_by_output = {{"tag", {Metric(fq, "fq")}}},
                   .weighted_metrics_by_output = {{"tag", {Metric(fq, "fq")}}, {"b", {Metric(fq, "fq")}}}}),
      (Names{"b_fq", "b_loss", "loss", "tag_fq", "tag_loss", "tag_weighted_fq"}));
}

}  // namespace
}  // namespace nyala
