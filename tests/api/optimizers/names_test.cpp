#include <gtest/gtest.h>

#include <nyala/api/optimizers/all.h>
#include <nyala/backend/core/error.h>
#include <nyala/tests/api/optimizers/bench.h>

namespace nyala {
namespace {

TEST(OptimizerNames, AreClassNamesInAnyCase) {
  for (const char* name : {"adadelta", "Adafactor", "ADAGRAD", "adam", "AdamW", "adamax", "Ftrl", "lamb",
                           "lion", "Muon", "Nadam", "RMSProp", "sgd", "ScheduleFreeAdamW"})
    EXPECT_NO_THROW(Optimizer{name}) << name;
  try {
    Optimizer("adagrat");
    FAIL();
  } catch (const InvalidArgumentError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'adagrad'"), std::string::npos) << error.what();
  }
}

TEST(OptimizerOptionsOfClasses, WhatTheyRefuse) {
  EXPECT_THROW(AdamW({.weight_decay = kNoValue}), InvalidArgumentError);
  EXPECT_THROW(Lion({.beta_1 = 0.0}), InvalidArgumentError);
  EXPECT_THROW(Ftrl({.learning_rate_power = 0.5}), InvalidArgumentError);
  EXPECT_THROW(Ftrl({.l1_regularization_strength = -1.0}), InvalidArgumentError);
  EXPECT_THROW(Muon({.exclude_layers = {"("}}), InvalidArgumentError);
  EXPECT_THROW(Nadam({.clipnorm = 1.0, .clipvalue = 1.0}), InvalidArgumentError);
}

TEST(OptimizerState, SlotsOfOtherShapesTravel) {
  for (const char* name : {"Adafactor", "Muon", "Nadam", "ScheduleFreeAdamW"}) {
    Bench first(Optimizer(name), {.shapes = {{3, 5}, {7}, {2, 3, 4}}});
    for (int step = 0; step < 3; ++step) first.step(first.gradients(step));
    Bench second(Optimizer(name), {.shapes = {{3, 5}, {7}, {2, 3, 4}}});
    for (size_t v = 0; v < first.variables.size(); ++v)
      second.variables[v].assign(first.variables[v].value());
    Tensors state;
    for (const OptimizerVariable& variable : first.optimizer.node().variables_for_file())
      state.push_back(variable.value);
    second.optimizer.node().load_variables(state);
    for (Bench* bench : {&first, &second}) bench->step(bench->gradients(3));
    for (size_t v = 0; v < first.variables.size(); ++v)
      EXPECT_EQ(first.weights(v), second.weights(v)) << name;
    state.pop_back();
    EXPECT_THROW(second.optimizer.node().load_variables(state), ShapeError) << name;
  }
}

TEST(OptimizerState, EmptyAndNarrowVariables) {
  for (const char* name : {"Adafactor", "Muon", "Lamb"}) {
    Bench bench(Optimizer(name), {.shapes = {{1, 1}, {4, 1}, {1, 4}, {1}}});
    for (int step = 0; step < 3; ++step) bench.step(bench.gradients(step));
    for (size_t v = 0; v < bench.variables.size(); ++v)
      for (const double w : bench.weights(v)) EXPECT_TRUE(std::isfinite(w)) << name;
  }
}

}  // namespace
}  // namespace nyala
