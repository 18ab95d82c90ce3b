#include <cmath>

#include <gtest/gtest.h>

#include <nyala/api/constraints/constraint.h>
#include <nyala/api/schedules/all.h>
#include <nyala/backend/core/error.h>
#include <nyala/tests/api/optimizers/bench.h>

namespace nyala {
namespace {

Optimizer everything() {
  return Adam({.learning_rate = 0.05,
               .amsgrad = true,
               .use_ema = true,
               .ema_momentum = 0.8,
               .loss_scale_factor = 4.0,
               .gradient_accumulation_steps = 3});
}

std::vector<Tensor> values_of(const Optimizer& optimizer) {
  std::vector<Tensor> values;
  for (const OptimizerVariable& variable : optimizer.node().variables_for_file())
    values.push_back(variable.value);
  return values;
}

TEST(OptimizerState, OrderIsThatOfKerasFiles) {
  Bench bench(everything(), {.shapes = {{2, 3}, {3}}});
  std::vector<std::string> names;
  for (const OptimizerVariable& variable : bench.optimizer.node().variables_for_file())
    names.push_back(variable.name);
  const std::vector<std::string> expected = {"iteration",
                                             "learning_rate",
                                             "layer_0_kernel_average",
                                             "layer_1_bias_average",
                                             "layer_0_kernel_gradient_accumulator",
                                             "layer_1_bias_gradient_accumulator",
                                             "layer_0_kernel_momentum",
                                             "layer_0_kernel_velocity",
                                             "layer_1_bias_momentum",
                                             "layer_1_bias_velocity",
                                             "layer_0_kernel_velocity_hat",
                                             "layer_1_bias_velocity_hat"};
  EXPECT_EQ(names, expected);
}

TEST(OptimizerState, ASavedStateGoesOnWithTheSameBits) {
  for (const int stop : {0, 2, 4, 6}) {  // in the middle of accumulation, too
    Bench whole(everything()), first(everything()), second(everything());
    for (int step = 0; step < 9; ++step) whole.step(whole.gradients(step));
    for (int step = 0; step < stop; ++step) first.step(first.gradients(step));
    for (size_t v = 0; v < first.variables.size(); ++v)
      second.variables[v].assign(first.variables[v].value());
    second.optimizer.node().load_variables(values_of(first.optimizer));
    EXPECT_EQ(second.optimizer.iterations(), stop / 3);
    for (int step = stop; step < 9; ++step) second.step(second.gradients(step));
    for (size_t v = 0; v < whole.variables.size(); ++v)
      EXPECT_EQ(second.weights(v), whole.weights(v)) << stop;
    second.optimizer.node().finalize_averages();
    whole.optimizer.node().finalize_averages();
    for (size_t v = 0; v < whole.variables.size(); ++v)
      EXPECT_EQ(second.weights(v), whole.weights(v)) << stop;
  }
}

TEST(OptimizerState, WhatDoesNotFitChangesNothing) {
  Bench bench(everything());
  bench.step(bench.gradients(0));
  const std::vector<Tensor> before = values_of(bench.optimizer);
  std::vector<Tensor> values = before;
  values.pop_back();
  EXPECT_THROW(bench.optimizer.node().load_variables(values), ShapeError);
  values = before;
  values[0] = Tensor::scalar(int64_t{7});
  values.back() = Tensor::zeros({2}, DType::float64);
  EXPECT_THROW(bench.optimizer.node().load_variables(values), ShapeError);
  const std::vector<Tensor> after = values_of(bench.optimizer);
  for (size_t i = 0; i < after.size(); ++i) EXPECT_EQ(as_doubles(after[i]), as_doubles(before[i]));
}

TEST(OptimizerState, AScheduleHasNoLearningRateVariable) {
  Bench bench(SGD({.learning_rate = ExponentialDecay(0.1, 2, 0.5)}));
  EXPECT_EQ(bench.optimizer.node().variables_for_file().size(), 1u);
  EXPECT_THROW(bench.optimizer.set_learning_rate(0.1), StateError);
  bench.step(bench.gradients(0));
  EXPECT_NEAR(bench.optimizer.learning_rate(), 0.1 * std::sqrt(0.5), 1e-8);
}

TEST(OptimizerState, TheLearningRateIsAFloat32Number) {
  const Optimizer optimizer = Adam({.learning_rate = 0.1});
  EXPECT_EQ(optimizer.learning_rate(), static_cast<double>(0.1f));
  optimizer.set_learning_rate(0.3);
  EXPECT_EQ(optimizer.learning_rate(), static_cast<double>(0.3f));
}

TEST(OptimizerState, RecycledArenaSpaceIsNoOldState) {
  const auto store = ParameterStore::make({Device{}}, true);
  const Optimizer optimizer = SGD({.learning_rate = 1.0, .momentum = 0.5});
  const auto make = [&](const std::string& name) {
    return store->create(
        {.name = name, .path = name, .shape = {8}, .dtype = DType::float32, .initialize = {}});
  };
  const auto step = [&](const Variable& variable) {
    store->gradient(0, variable).copy_from(Tensor::full({8}, 1.0));
    ASSERT_TRUE(optimizer.node().begin_step());
    optimizer.node().apply({store.get(), 0, 0, {}, 1});
    optimizer.node().end_step();
  };
  Variable kept = make("kept"), gone = make("gone");
  optimizer.node().build(*store, {kept, gone});
  step(kept);
  optimizer.node().build(*store, {kept});
  gone = Variable();
  const Variable fresh = make("fresh");
  optimizer.node().build(*store, {kept, fresh});
  const auto state = optimizer.node().variables_for_file();
  EXPECT_EQ(as_doubles(state[2].value)[0], -1.0) << "what is known keeps its state";
  EXPECT_EQ(as_doubles(state[3].value), std::vector<double>(8, 0.0))
      << "what is new begins with the initial value";
}

TEST(OptimizerState, ExclusionFromWeightDecay) {
  const Optimizer optimizer = SGD({.learning_rate = 0.5, .weight_decay = 0.5});
  optimizer.node().exclude_from_weight_decay({"bias"});
  Bench bench(optimizer);
  EXPECT_THROW(optimizer.node().exclude_from_weight_decay({"kernel"}), StateError);
  const std::vector<double> kernel = bench.weights(0), bias = bench.weights(1);
  bench.step(bench.gradients(0, 0.0));
  EXPECT_EQ(bench.weights(1), bias);
  for (size_t i = 0; i < kernel.size(); ++i) EXPECT_NEAR(bench.weights(0)[i], 0.75 * kernel[i], 1e-15);
}

TEST(OptimizerState, ConstraintsComeAfterTheAverage) {
  class Positive final : public ConstraintNode {
   public:
    std::string class_name() const override { return "Positive"; }
    Tensor project(const Tensor& weight) const override {
      std::vector<double> values = weight.to_vector<double>();
      for (double& value : values) value = std::max(value, 0.0);
      return Tensor::from(values, weight.shape());
    }
  };
  const auto store = ParameterStore::make({Device{}}, true);
  const Variable variable = store->create({.name = "w",
                                           .path = "w",
                                           .shape = {1},
                                           .dtype = DType::float64,
                                           .initialize = {},
                                           .constraint = Constraint(std::make_shared<Positive>())});
  const Optimizer optimizer = SGD({.learning_rate = 1.0, .use_ema = true});
  optimizer.node().build(*store, {variable});
  store->gradient(0, variable).copy_from(Tensor::full({1}, 2.0, DType::float64));
  ASSERT_TRUE(optimizer.node().begin_step());
  optimizer.node().apply({store.get(), 0, 0, {}, 1});
  optimizer.node().end_step();
  EXPECT_EQ(variable.value().item(), 0.0);
  EXPECT_EQ(optimizer.node().variables_for_file()[2].value.item(), -2.0);
}

TEST(OptimizerState, Validation) {
  EXPECT_THROW(SGD({.momentum = 1.5}), InvalidArgumentError);
  EXPECT_THROW(SGD({.momentum = -0.1}), InvalidArgumentError);
  EXPECT_THROW(SGD({.momentum = std::nan("")}), InvalidArgumentError);
  EXPECT_THROW(Adam({.gradient_accumulation_steps = 1}), InvalidArgumentError);
  EXPECT_THROW(Adam({.use_ema = true, .ema_momentum = 1.1}), InvalidArgumentError);
  EXPECT_THROW(Adam({.use_ema = true, .ema_overwrite_frequency = -1}), InvalidArgumentError);
  EXPECT_NO_THROW(Adam({.ema_momentum = 7.0})) << "not used";
  const auto store = ParameterStore::make({Device{}}, true);
  const Variable frozen =
      store->create({.name = "w", .path = "w", .shape = {2}, .trainable = false, .initialize = {}});
  const Variable single =
      store->create({.name = "a", .path = "a", .shape = {2}, .dtype = DType::float32, .initialize = {}});
  const Variable twice =
      store->create({.name = "b", .path = "b", .shape = {2}, .dtype = DType::float64, .initialize = {}});
  const Optimizer optimizer = "sgd";
  EXPECT_THROW(optimizer.node().build(*store, {frozen}), StateError);
  EXPECT_THROW(optimizer.node().build(*store, {single, twice}), DTypeError);
  EXPECT_FALSE(optimizer.node().built());
}

TEST(OptimizerState, NamesInAnyCase) {
  for (const char* name : {"adam", "Adam", "ADAM"}) EXPECT_EQ(Optimizer(name).node().class_name(), "Adam");
  EXPECT_EQ(Optimizer("RMSProp").node().class_name(), "RMSprop");
  EXPECT_EQ(Optimizer("sgd").learning_rate(), static_cast<double>(0.01f));
  try {
    Optimizer("adm");
    FAIL();
  } catch (const InvalidArgumentError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'adam'"), std::string::npos) << error.what();
  }
}

TEST(OptimizerState, NothingToTrainIsNoError) {
  const auto store = ParameterStore::make({Device{}}, true);
  const Optimizer optimizer = "adam";
  optimizer.node().build(*store, {});
  EXPECT_TRUE(optimizer.node().begin_step());
  optimizer.node().apply({store.get(), 0, 0, {}, 1});
  optimizer.node().end_step();
  EXPECT_EQ(optimizer.iterations(), 1);
  EXPECT_EQ(optimizer.node().variables_for_file().size(), 2u);
}

}  // namespace
}  // namespace nyala
