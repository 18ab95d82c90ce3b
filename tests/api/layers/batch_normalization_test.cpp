#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/api/layers/normalization/batch_normalization.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/runtime/collectives.h>

namespace nyala {
namespace {

const std::vector<double> kRows = {1,  10, 3,
                                   20, 8,  60};  // columns with means 4, 30 and variances 26/3, 1400/3

Tensor rows() { return Tensor::from(kRows, {3, 2}); }

Layer built(const BatchNormalizationConfig& config = {}) {
  BatchNormalizationConfig wide = config;
  wide.dtype = "float64";
  const BatchNormalization layer(wide);
  layer.node().ensure_built({Shape({None, 2})});
  return layer;
}

std::vector<double> assigned(const Call& call, const std::string& name) {
  for (const auto& [variable, value] : call.assignments())
    if (variable.name() == name) return value.to_vector<double>();
  return {};
}

TEST(BatchNormalizationLayer, TrainingUsesAndRemembersTheBatch) {
  const Layer layer = built({.momentum = 0.9, .epsilon = 0});
  Call call({.training = true, .tape = nullptr, .replica = nullptr, .step = {}});
  const auto y = layer(call, rows()).to_vector<double>();
  EXPECT_NEAR(y[0], -3 / std::sqrt(26.0 / 3), 1e-12);
  EXPECT_NEAR(y[5], 30 / std::sqrt(1400.0 / 3), 1e-12);
  EXPECT_NEAR(assigned(call, "moving_mean")[1], 3.0, 1e-12);
  EXPECT_NEAR(assigned(call, "moving_variance")[0], 0.9 + 0.1 * 26 / 3, 1e-12);
}

TEST(BatchNormalizationLayer, InferenceAndFrozenUseTheMovingStatistics) {
  const Layer layer = built({.epsilon = 3});
  const auto plain = layer(rows()).to_vector<double>();
  for (size_t i = 0; i < kRows.size(); ++i) EXPECT_NEAR(plain[i], kRows[i] / 2, 1e-12);
  layer.set_trainable(false);
  Call call({.training = true, .tape = nullptr, .replica = nullptr, .step = {}});
  EXPECT_EQ(layer(call, rows()).to_vector<double>(), plain);
  EXPECT_TRUE(call.assignments().empty());
}

TEST(BatchNormalizationLayer, CentreAndScaleMakeTheWeights) {
  EXPECT_EQ(built().weights().size(), 4u);
  EXPECT_EQ(built({.center = false}).weights()[0].name(), "gamma");
  EXPECT_EQ(built({.scale = false}).weights()[0].name(), "beta");
  EXPECT_EQ(built({.center = false, .scale = false}).trainable_weights().size(), 0u);
  EXPECT_EQ(built().non_trainable_weights()[1].name(), "moving_variance");
}

/// Two replicas of which the other holds `other`.
class TwoReplicas final : public Collectives {
 public:
  explicit TwoReplicas(Tensor other) : other_(std::move(other)) {}
  int replica_id() const override { return 0; }
  int num_replicas() const override { return 2; }
  Tensor all_reduce_sum(const Tensor& value, const char*) override { return value + other_; }
  Tensor all_gather(const Tensor& value) override {
    const Tensor both = Tensor::empty({2, value.shape()[0]}, value.dtype());
    both.rows(0, 1).copy_from(value.with_shape({1, value.shape()[0]}));
    both.rows(1, 1).copy_from(other_.with_shape({1, value.shape()[0]}));
    return both;
  }
  Tensors all_values(const Tensor& value, const char*) override { return {value, other_}; }
  void barrier(std::string_view, const void* contribution,
               const std::function<void(Contributions)>& once) override {
    once(Contributions(&contribution, 1));
  }

 private:
  Tensor other_;
};

TEST(BatchNormalizationLayer, ReplicasShareStatisticsUnlessTheOptionSaysOtherwise) {
  // The other replica holds the row (8, 60): count, means, squared distances.
  TwoReplicas replicas(Tensor::from(std::vector<double>{1, 8, 60, 0, 0}));
  const Tensor first_two = rows().rows(0, 2);
  for (const bool alone : {false, true}) {
    const Layer layer = built({.momentum = 0, .per_replica_statistics = alone});
    Call call({.training = true, .tape = nullptr, .replica = &replicas, .global_rows = 3, .step = {}});
    layer(call, first_two);
    EXPECT_NEAR(assigned(call, "moving_mean")[0], alone ? 2.0 : 4.0, 1e-12);
    EXPECT_NEAR(assigned(call, "moving_variance")[0], alone ? 1.0 : 26.0 / 3, 1e-12);
    const Aggregation expected = alone ? Aggregation::mean : Aggregation::only_first_replica;
    EXPECT_EQ(layer.non_trainable_weights()[0].aggregation(), expected);
  }
}

TEST(BatchNormalizationLayer, WithoutRowsNothingIsForgotten) {
  const Layer layer = built({.moving_mean_initializer = "ones", .per_replica_statistics = true});
  Call call({.training = true, .tape = nullptr, .replica = nullptr, .step = {}});
  layer(call, Tensor::zeros({0, 2}, DType::float64));
  EXPECT_EQ(assigned(call, "moving_mean"), (std::vector<double>{1, 1}));
  EXPECT_EQ(assigned(call, "moving_variance"), (std::vector<double>{1, 1}));
}

}  // namespace
}  // namespace nyala
