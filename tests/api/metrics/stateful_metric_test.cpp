#include <nyala/api/metrics/base/stateful_metric.h>

#include <algorithm>

#include <gtest/gtest.h>

#include <nyala/api/saving/checkpoint.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/mirrored.h>
#include <nyala/tests/api/saving/custom_objects.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala {
namespace {

using custom::MyMetric;
using custom::MyMetricConfig;

Tensor numbers(const Shape& shape, uint64_t seed = 1) {
  DrawStream random(seed);
  std::vector<float> values(static_cast<size_t>(shape.num_elements()));
  for (float& value : values) value = static_cast<float>(random.uniform(-1.0, 1.0));
  return Tensor::from(values, shape);
}

Metric own() { return Metric(std::make_shared<MyMetric>(MyMetricConfig{.factor = 2.0, .name = "own"})); }

/// What MyMetric is of these predictions.
double expected(const std::vector<float>& p) {
  double sum = 0.0;
  for (const float value : p) sum += value;
  return 2.0 * (*std::max_element(p.begin(), p.end()) + sum / static_cast<double>(p.size()));
}

/// A state of every kind.
struct AllKinds : StatefulMetric {
  std::string class_name() const override { return "AllKinds"; }
  std::string name() const override { return "all_kinds"; }
  std::vector<MetricVariable> state() const override {
    return {{"sum", {2}, StateAggregation::sum, 1.0},
            {"mean", {}, StateAggregation::mean},
            {"max", {}, StateAggregation::max, -9.0},
            {"min", {}, StateAggregation::min, 9.0},
            {"first", {1}, StateAggregation::only_first_replica}};
  }
  Tensors updated(const Tensors& s, const Tensor&, const Tensor&, const Tensor&) const override { return s; }
  Tensor value(const Tensors& s) const override { return s[0]; }
};

class StatefulMetrics : public testing::Test {
 protected:
  static void SetUpTestSuite() { configure_logical_devices("cpu", 3); }
  static void TearDownTestSuite() { configure_logical_devices("cpu", 1); }
};

TEST_F(StatefulMetrics, Alone) {
  const Metric metric = own();
  const Tensor p = numbers({6, 1});
  metric.update_state(p.rows(0, 4), p.rows(0, 4));
  metric.update_state(p.rows(4, 2), p.rows(4, 2));
  metric.update_state(p.rows(0, 0), p.rows(0, 0));
  EXPECT_NEAR(metric.result(), expected(p.to_vector<float>()), 1e-6);
  metric.reset_state();
  metric.update_state(p.rows(4, 2), p.rows(4, 2));
  EXPECT_NEAR(metric.result(), expected(p.rows(4, 2).to_vector<float>()), 1e-6);
}

TEST_F(StatefulMetrics, StatesOfReplicasBecomeOne) {
  const AllKinds metric;
  EXPECT_EQ(metric.state_size(), 6);
  EXPECT_EQ(metric.initial_state(), (std::vector<double>{1, 1, 0, -9, 9, 0}));
  const std::vector<double> a = {2, 3, 4, 5, 6, 7}, b = {1, 2, 8, 9, 1, 2};
  EXPECT_EQ(metric.merged({a, b}), (std::vector<double>{2, 4, 6, 9, 1, 7})) << "the initial sum counts once";
  EXPECT_EQ(metric.share_of(a, 0), a);
  EXPECT_EQ(metric.share_of(a, 1), (std::vector<double>{1, 1, 4, 5, 6, 7}));
  EXPECT_EQ(metric.merged({metric.share_of(a, 0), metric.share_of(a, 1), metric.share_of(a, 2)}), a);
}

TEST_F(StatefulMetrics, TrainingOnThreeReplicasGivesTheNumbersOfOne) {
  const Tensor x = numbers({23, 3}), y = numbers({23, 1}, 2);
  const auto train = [&](const std::vector<std::string>& devices) {
    set_random_seed(3);
    const MirroredStrategy strategy({.devices = devices});
    const auto scope = strategy.scope();
    const Sequential model({Input({3}), Dense(1)});
    model.compile({.optimizer = SGD(0.1), .loss = "mse", .metrics = {own()}});
    const History history = model.fit(
        x, y, {.batch_size = 5, .epochs = 2, .verbose = 0, .validation_split = 0.3, .shuffle = false});
    EXPECT_NEAR(model.evaluate(x, y, {.verbose = 0})["own"],
                expected(model.predict(x, {.verbose = 0}).to_vector<float>()), 1e-5);
    return history["own"];
  };
  const std::vector<double> one = train({"cpu:0"}), three = train({"cpu:0", "cpu:1", "cpu:2"});
  ASSERT_EQ(one.size(), three.size());
  for (size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(one[i], three[i], 1e-5);
}

/// A checkpoint in the middle of an epoch, on other numbers of replicas.
TEST_F(StatefulMetrics, CheckpointsKeepTheState) {
  const ScratchFolder folder("stateful_metric");
  const Tensor x = numbers({12, 3}), y = numbers({12, 1}, 2);
  const auto result = [&](const std::vector<std::string>& devices, bool save) {
    const MirroredStrategy strategy({.devices = devices});
    const auto scope = strategy.scope();
    const Sequential model({Input({3}), Dense(1, {.kernel_initializer = "ones"})});
    model.compile({.optimizer = SGD(0.0), .loss = "mse", .metrics = {own()}});
    if (save) {
      model.test_on_batch(x, y);
      Checkpoint(model).save(folder.file("c.weights.h5"), {});
    } else {
      model.test_on_batch(x.rows(0, 3), y.rows(0, 3));
      Checkpoint(model).restore(folder.file("c.weights.h5"));
    }
    for (const Metric& metric : model.metrics())
      if (metric.name() == "own") return metric.result();
    return -1.0;
  };
  const double saved = result({"cpu:0", "cpu:1"}, true);
  EXPECT_NEAR(result({"cpu:0"}, false), saved, 1e-9);
  EXPECT_NEAR(result({"cpu:0", "cpu:1"}, false), saved, 1e-9);
  EXPECT_NEAR(result({"cpu:0", "cpu:1", "cpu:2"}, false), saved, 1e-9);
}

TEST_F(StatefulMetrics, WrongShapesAreNamed) {
  struct Wrong : AllKinds {
    Tensors updated(const Tensors& s, const Tensor&, const Tensor&, const Tensor&) const override {
      return {s[1], s[1], s[2], s[3], s[4]};
    }
  };
  const Metric metric{std::make_shared<Wrong>()};
  try {
    metric.update_state(numbers({2, 1}), numbers({2, 1}));
    ADD_FAILURE();
  } catch (const ShapeError& error) {
    EXPECT_NE(std::string(error.what()).find("'sum'"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace nyala
