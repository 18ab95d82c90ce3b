#include <cmath>
#include <concepts>
#include <filesystem>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include <nyala/api/layers/core/dense.h>
#include <nyala/api/layers/core/input.h>
#include <nyala/api/model/sequential.h>
#include <nyala/api/saving/config/training_config.h>
#include <nyala/api/saving/load_model.h>
#include <nyala/api/utils/gradient_tape.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/files/hdf5/file.h>
#include <nyala/tests/api/optimizers/bench.h>

namespace nyala {
namespace {

using Gradients = std::vector<std::vector<double>>;

// A group has no formula, slots or plan that it would have to refuse; a user's wrapper is one, too.
static_assert(std::derived_from<OptimizerNode, UpdateFormula>);
static_assert(!std::derived_from<OptimizerGroup, UpdateFormula>);
static_assert(std::derived_from<OptimizerGroup, BaseOptimizer>);

/// What a scaled loss gives.
Gradients times(Gradients gradients, double scale) {
  for (auto& of_variable : gradients)
    for (double& gradient : of_variable) gradient *= scale;
  return gradients;
}

Gradients with_one(Gradients gradients, double bad) {
  gradients.back().back() = bad;
  return gradients;
}

TEST(LossScaleOptimizer, UpdatesAreThoseOfTheInnerOptimizer) {
  for (const int slices : {1, 3}) {
    const LossScaleOptimizer scaled(Adam({.learning_rate = 0.05, .clipnorm = 0.7, .use_ema = true}),
                                    {.initial_scale = 64.0, .dynamic_growth_steps = 3});
    Bench bench(scaled, {.slices = slices});
    Bench plain(Adam({.learning_rate = 0.05, .clipnorm = 0.7, .use_ema = true}), {.slices = slices});
    for (int step = 0; step < 8; ++step) {
      EXPECT_EQ(scaled.dynamic_scale(), 64.0 * std::pow(2.0, step / 3)) << step;
      bench.step(times(bench.gradients(step), scaled.dynamic_scale()));
      plain.step(plain.gradients(step));
    }
    for (size_t v = 0; v < bench.variables.size(); ++v) EXPECT_EQ(bench.weights(v), plain.weights(v));
    EXPECT_EQ(scaled.iterations(), 8);
    EXPECT_EQ(scaled.inner_optimizer().iterations(), 8);
    bench.optimizer.node().finalize_averages();
    plain.optimizer.node().finalize_averages();
    for (size_t v = 0; v < bench.variables.size(); ++v) EXPECT_EQ(bench.weights(v), plain.weights(v));
  }
}

TEST(LossScaleOptimizer, SkipsStepsThatAreNotFinite) {
  for (const double bad : {std::numeric_limits<double>::infinity(), std::nan("")})
    for (const bool shared : {true, false}) {
      const LossScaleOptimizer scaled(SGD({.learning_rate = 0.1, .momentum = 0.9}),
                                      {.initial_scale = 64.0, .dynamic_growth_steps = 2});
      Bench bench(scaled, {.devices = {Device{}, Device{}}, .share_weights = shared});
      Bench plain(SGD({.learning_rate = 0.1, .momentum = 0.9}),
                  {.devices = {Device{}, Device{}}, .share_weights = shared});
      bench.step(times(bench.gradients(0), 64.0));
      plain.step(plain.gradients(0));
      bench.step(with_one(bench.gradients(1), bad));
      EXPECT_EQ(scaled.dynamic_scale(), 32.0);
      EXPECT_EQ(scaled.iterations(), 1);
      for (int step = 2; step < 4; ++step) {
        bench.step(times(bench.gradients(step), scaled.dynamic_scale()));
        plain.step(plain.gradients(step));
      }
      EXPECT_EQ(scaled.dynamic_scale(), 64.0);
      for (size_t v = 0; v < bench.variables.size(); ++v)
        for (int copy = 0; copy < bench.store->num_weight_copies(); ++copy)
          EXPECT_EQ(bench.weights(v, copy), plain.weights(v, copy));
    }
}

TEST(LossScaleOptimizer, IsAClassOfKerasInFiles) {
  const Json json = optimizer_to_json(LossScaleOptimizer(Adam(0.05)).node());
  EXPECT_EQ(json["module"], "keras.optimizers");
  EXPECT_TRUE(json["registered_name"].is_null());
}

TEST(LossScaleOptimizer, AStateOfSkippedStepsTravels) {
  const LossScaleOptimizer first(Adam(0.05)), second(Adam(0.05));
  EXPECT_TRUE(first.node().made_no_step());
  Bench one(first, {.shapes = {{2}}}), other(second, {.shapes = {{2}}});
  one.step({{std::nan(""), 0.0}});
  EXPECT_FALSE(first.node().made_no_step());
  Tensors state;
  std::vector<std::string> names;
  for (const OptimizerVariable& variable : first.node().variables_for_file()) {
    state.push_back(variable.value);
    names.push_back(variable.name.substr(variable.name.rfind('/') + 1));
  }
  EXPECT_EQ(names, (std::vector<std::string>{"iteration", "learning_rate", "step_counter", "dynamic_scale",
                                             "iteration", "learning_rate", "layer_0_kernel_momentum",
                                             "layer_0_kernel_velocity"}));
  second.node().load_variables(state);
  EXPECT_EQ(second.dynamic_scale(), 16384.0);
  state[6] = Tensor::zeros({3}, DType::float64);
  state[3] = Tensor::scalar(2.0f);
  EXPECT_THROW(second.node().load_variables(state), ShapeError);
  EXPECT_EQ(second.dynamic_scale(), 16384.0);  // nothing was changed
  state.pop_back();
  EXPECT_THROW(second.node().load_variables(state), ShapeError);
}

TEST(LossScaleOptimizer, RatesAndExclusionsAreTheInnerOnes) {
  const AdamW inner({.learning_rate = 0.05, .weight_decay = 0.5});
  const LossScaleOptimizer scaled(inner);
  scaled.set_learning_rate(0.25);
  EXPECT_EQ(inner.learning_rate(), 0.25);
  EXPECT_EQ(scaled.learning_rate(), 0.25);
  EXPECT_EQ(scaled.scale_loss(Tensor(2.0f)).item(), 65536.0);
  scaled.node().exclude_from_weight_decay({"kernel"});
  Bench bench(scaled, {.shapes = {{2}, {2}}});
  const std::vector<double> kernel = bench.weights(0), bias = bench.weights(1);
  bench.step({{0.0, 0.0}, {0.0, 0.0}});
  EXPECT_EQ(bench.weights(0), kernel);
  EXPECT_NE(bench.weights(1), bias);
}

TEST(LossScaleOptimizer, GradientTapesScaleThemselves) {
  const Sequential model({Input({2}), Dense(1, {.kernel_initializer = "ones", .name = "only"})});
  const LossScaleOptimizer scaled(SGD(0.5), {.initial_scale = 8.0});
  const Variables kernel = {model.weights()[0]};
  const auto step = [&](float x) {
    GradientTape tape;
    const Tensor loss = scaled.scale_loss(ops::sum(model(Tensor::from(std::vector<float>{x, 1}, {1, 2}))));
    scaled.apply_gradients(tape.gradient(loss, kernel), kernel);  // part of what it was built for
  };
  {
    GradientTape tape;
    const Tensor loss = scaled.scale_loss(ops::sum(model(Tensor::zeros({1, 2}))));
    scaled.apply_gradients(tape.gradient(loss, model.weights()), model.weights());
  }
  step(2);
  EXPECT_EQ(kernel[0].value().to_vector<float>(), (std::vector<float>{0, 0.5}));
  step(std::numeric_limits<float>::infinity());
  EXPECT_EQ(kernel[0].value().to_vector<float>(), (std::vector<float>{0, 0.5}));
  EXPECT_EQ(scaled.dynamic_scale(), 4.0);
  EXPECT_EQ(scaled.iterations(), 2);
  step(1);
  EXPECT_EQ(kernel[0].value().to_vector<float>(), (std::vector<float>{-0.5, 0}));
}

/// Keras reads the state of inner optimizers from places of their own, too.
TEST(LossScaleOptimizer, FilesHoldTheInnerStateTwice) {
  const std::string path = ::testing::TempDir() + "scaled.weights.h5";
  const auto saved = [&](const Optimizer& optimizer) {
    const Sequential model({Input({2}), Dense(1), Dense(1)});
    model.compile({.optimizer = optimizer, .loss = "mse"});
    model.train_on_batch(Batch{.x = {Tensor::full({2, 2}, 1.0)}, .y = {Tensor::zeros({2, 1})}});
    model.save_weights(path);
    const hdf5::File file = hdf5::File::open(path);
    std::filesystem::remove(path);
    return file;
  };
  const hdf5::File scaled = saved(LossScaleOptimizer(SGD({.momentum = 0.9})));
  EXPECT_EQ(scaled.root().group("optimizer/vars").names().size(), 10u);
  EXPECT_EQ(scaled.root().group("optimizer/inner_optimizer/vars").names().size(), 6u);
  const hdf5::File several =
      saved(MultiOptimizer(OptimizerMap(SGD(0.1), {{".*/kernel", RMSprop()}, {".*_1/bias", SGD(0.2)}})));
  EXPECT_EQ(several.root().group("optimizer/optimizers/rm_sprop/vars").names().size(), 4u);
  EXPECT_EQ(several.root().group("optimizer/optimizers/sgd/vars").names().size(), 2u);
  EXPECT_EQ(several.root().group("optimizer/optimizers/sgd_1/vars").names().size(), 2u);
}

TEST(LossScaleOptimizer, DamagedConfigurationsAreRefused) {
  LoadScope scope;
  const auto load = [&](const char* text) {
    return optimizer_from_json(parse_json(text, "text"), "file", scope);
  };
  EXPECT_EQ(load(R"({"class_name": "LossScaleOptimizer", "config": {"inner_optimizer": "adam"}})")
                .node()
                .class_name(),
            "LossScaleOptimizer");
  for (const char* text :
       {R"({"class_name": "LossScaleOptimizer", "config": {}})",
        R"({"class_name": "LossScaleOptimizer", "config": {"inner_optimizer": "adam", "initial_scale": -1}})",
        R"({"class_name": "LossScaleOptimizer", "config": {"inner_optimizer":
            {"class_name": "LossScaleOptimizer", "config": {"inner_optimizer": "adam"}}}})",
        R"({"class_name": "MultiOptimizer", "config": {"optimizer_map": {"class_name": "function"}}})",
        R"({"class_name": "MultiOptimizer", "config": {"optimizer_map": {"class_name": "OptimizerMap",
            "config": {"default_optimizer": "adam", "optimizer_map": []}}}})",
        R"({"class_name": "MultiOptimizer", "config": {"optimizer_map": {"class_name": "OptimizerMap",
            "config": {"default_optimizer": "adam", "optimizer_map": {"(": "sgd"}}}}})"})
    EXPECT_THROW(load(text), FileFormatError) << text;
}

TEST(LossScaleOptimizer, WhatItRefuses) {
  EXPECT_THROW(LossScaleOptimizer(LossScaleOptimizer::Config{}), InvalidArgumentError);
  EXPECT_THROW(LossScaleOptimizer(SGD(), {.initial_scale = 0.0}), InvalidArgumentError);
  EXPECT_THROW(LossScaleOptimizer(SGD(), {.dynamic_growth_steps = 0}), InvalidArgumentError);
  EXPECT_THROW(LossScaleOptimizer(SGD({.gradient_accumulation_steps = 2})), InvalidArgumentError);
  const Optimizer wrapper = LossScaleOptimizer(SGD(0.1));
  EXPECT_THROW(LossScaleOptimizer{wrapper}, InvalidArgumentError);
  EXPECT_THROW(Optimizer("LossScaleOptimizer"), InvalidArgumentError);
}

TEST(OptimizerMap, FindsByPathAndPattern) {
  const SGD fallback, exact, pattern;
  const OptimizerMap map(fallback,
                         {{"encoder/.*", pattern}, {"encoder/dense/kernel", exact}, {".*/b", exact}});
  const auto found = [&](const std::string& path) { return &map[path].node(); };
  EXPECT_EQ(found("encoder/dense/kernel"), &exact.node());
  EXPECT_EQ(found("encoder/other/kernel"), &pattern.node());
  EXPECT_EQ(found("encoder"), &fallback.node());
  EXPECT_EQ(found("my/encoder/x"), &fallback.node());  // a pattern is to match the whole path
  EXPECT_THROW(found("encoder/b"), InvalidArgumentError);
  EXPECT_THROW(OptimizerMap(fallback, {{"(", exact}}), InvalidArgumentError);
  EXPECT_THROW(OptimizerMap(fallback, {{"a", exact}, {"a", pattern}}), InvalidArgumentError);
  EXPECT_THROW(OptimizerMap{Optimizer()}, InvalidArgumentError);
  EXPECT_THROW(OptimizerMap(fallback, {{"a", LossScaleOptimizer(SGD(0.1))}}), InvalidArgumentError);
}

TEST(MultiOptimizer, EachUpdatesItsVariables) {
  const SGD kernels({.learning_rate = 0.1, .momentum = 0.5});
  const Adam rest(0.05);
  const MultiOptimizer multi(OptimizerMap(rest, {{".*/kernel", kernels}}), {.loss_scale_factor = 4.0});
  Bench bench(multi);
  Bench one(SGD({.learning_rate = 0.1, .momentum = 0.5})), other(Adam(0.05));
  for (int step = 0; step < 4; ++step) {
    bench.step(times(bench.gradients(step), 4.0));
    one.step(one.gradients(step));
    other.step(other.gradients(step));
  }
  EXPECT_EQ(bench.weights(0), one.weights(0));  // kernel
  EXPECT_EQ(bench.weights(1), other.weights(1));
  EXPECT_EQ(bench.weights(2), one.weights(2));
  EXPECT_EQ(multi.iterations(), 4);
  EXPECT_EQ(kernels.iterations(), 4);
  ASSERT_EQ(multi.optimizers().size(), 2u);
  EXPECT_EQ(&multi.optimizers()[0].node(), &kernels.node());
  EXPECT_THROW(multi.learning_rate(), StateError);
  EXPECT_THROW(multi.set_learning_rate(0.1), StateError);
}

TEST(MultiOptimizer, GathersGradientsTogether) {
  const auto make = [](int64_t steps, int64_t other) {
    return MultiOptimizer(OptimizerMap(SGD({.learning_rate = 0.1, .gradient_accumulation_steps = steps}),
                                       {{".*/bias", Adam({.gradient_accumulation_steps = other})}}));
  };
  Bench bench(make(2, 2)), plain(SGD({.learning_rate = 0.1, .gradient_accumulation_steps = 2}));
  for (int step = 0; step < 4; ++step)
    for (Bench* each : {&bench, &plain}) each->step(each->gradients(step));
  EXPECT_EQ(bench.weights(0), plain.weights(0));
  EXPECT_EQ(bench.optimizer.iterations(), 4);  // Keras counts calls, its members updates
  EXPECT_THROW(make(2, 3), InvalidArgumentError);
}

TEST(MultiOptimizer, AFunctionMayChoose) {
  const SGD one(0.5);
  int asked = 0;
  const MultiOptimizer multi([&](const Variable& variable) -> Optimizer {
    ++asked;
    return variable.name() == "bias" ? Optimizer(one) : Optimizer(Adam(0.05));
  });
  Bench bench(multi);
  bench.step(bench.gradients(0));
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(multi.optimizers().size(), 3u);
  const Sequential model({Input({2}), Dense(1)});
  model.compile({.optimizer = MultiOptimizer([](const Variable&) { return SGD(0.5); }), .loss = "mse"});
  const std::string path = ::testing::TempDir() + "chosen.keras";
  model.save(path);  // without what compile() was told
  EXPECT_FALSE(load_model(path).compiled());
  EXPECT_THROW(MultiOptimizer(MultiOptimizer::Config{}), InvalidArgumentError);
}

/// What the warning at saving says to do gives the training that was saved, optimizers' states included.
TEST(MultiOptimizer, AfterLoadingAFunctionIsGivenAgain) {
  const auto chosen = [] {
    const Optimizer for_bias = SGD(0.1, {.momentum = 0.9}), for_others = Adam(0.1);
    return MultiOptimizer(
        [=](const Variable& variable) { return variable.name() == "bias" ? for_bias : for_others; });
  };
  const Tensor x({{1, 2}, {3, -1}, {0, 1}}), y({{1}, {0}, {2}});
  const auto loss_of_next = [&](const Model& model) {
    return model.fit(x, y, {.epochs = 2, .verbose = 0, .shuffle = false}).last("loss");
  };
  const Sequential model({Input({2}), Dense(1)});
  model.compile({.optimizer = chosen(), .loss = "mse"});
  loss_of_next(model);
  const std::string path = ::testing::TempDir() + "chosen_again.keras";
  std::string warning;
  set_log_sink([&](LogChannel, std::string_view text) { warning += text; });
  model.save(path);
  set_log_sink({});
  EXPECT_NE(warning.find("compile the loaded model again"), std::string::npos) << warning;
  EXPECT_EQ(warning.find("optimizer of the loaded model"), std::string::npos) << warning;
  const Model loaded = load_model(path);
  loaded.compile({.optimizer = chosen(), .loss = "mse"});
  loaded.load_weights(path);
  EXPECT_EQ(loss_of_next(loaded), loss_of_next(model));
}

}  // namespace
}  // namespace nyala
