// Images that are changed at random are the same under every strategy: each draws by its place in the global
// batch, also in batches that leave some replicas without rows. So are steps that an optimizer skips.
#include <gtest/gtest.h>

#include <cmath>

#include <nyala/nyala.h>
#include <nyala/tests/conformance/strategies/expect_promise.h>

namespace nyala {

using namespace nyala::detail;
namespace {

constexpr int64_t kRows = 33, kSide = 7, kClasses = 3;  // batches of 8, the last one of 1

CaseData images(DType dtype) {
  CaseData data;
  data.x = {random_numbers(1, {kRows, kSide, kSide, 2}, dtype)};
  data.y = {random_labels(2, kRows, kClasses)};
  data.fit.batch_size = 8;
  data.fit.epochs = 2;
  data.fit.verbose = 0;
  return data;
}

PromiseCase augmented(const std::string& name, const std::function<std::vector<Layer>(std::string)>& layers) {
  return {name,
          [=](const std::string& dtype) {
            std::vector<Layer> all = {Input({kSide, kSide, 2}, {.dtype = dtype})};
            for (const Layer& layer : layers(dtype)) all.push_back(layer);
            all.push_back(Conv2D(4, 3, {.activation = "relu", .dtype = dtype}));
            all.push_back(Flatten());
            all.push_back(Dense(kClasses, {.dtype = dtype}));
            const Sequential net(all);
            net.compile({.optimizer = SGD({.learning_rate = 0.05, .momentum = 0.9}),
                         .loss = SparseCategoricalCrossentropy({.from_logits = true})});
            return net;
          },
          images};
}

TEST(PromiseOfAugmentation, Motions) {
  expect_promise(augmented("flip, rotation, zoom, translation", [](const std::string& dtype) {
    return std::vector<Layer>{RandomFlip({.mode = "horizontal", .seed = 1, .dtype = dtype}),
                              RandomRotation(0.2, {.seed = 2, .dtype = dtype}),
                              RandomZoom(0.3, {.width_factor = 0.1, .seed = 3, .dtype = dtype}),
                              RandomTranslation(0.2, 0.3, {.fill_mode = "wrap", .seed = 4, .dtype = dtype})};
  }));
}

TEST(PromiseOfAugmentation, ColoursAndCrops) {
  expect_promise(augmented("contrast, brightness, crop", [](const std::string& dtype) {
    const FactorRange values = {-3.0, 3.0};
    return std::vector<Layer>{Conv2D(2, 1, {.dtype = dtype}),  // gradients go through those behind it
                              RandomContrast(0.5, {.value_range = values, .seed = 5, .dtype = dtype}),
                              RandomBrightness(0.2, {.value_range = values, .seed = 6, .dtype = dtype}),
                              RandomRotation(0.1, {.seed = 7, .dtype = dtype}),
                              RandomCrop(5, 6, {.seed = 8, .dtype = dtype})};
  }));
}

/// A table in which one row of the third batch has a number that overflows.
CaseData with_overflow(DType dtype) {
  CaseData data;
  data.x = {random_numbers(3, {kRows, 4}, dtype)};
  data.y = {random_numbers(4, {kRows, 1}, dtype)};
  dispatch_real(dtype, "test", [&]<class T>(T) {
    data.x[0].data<T>()[(2 * 8 + 5) * 4] = std::numeric_limits<T>::infinity();
  });
  data.fit.batch_size = 8;
  data.fit.epochs = 2;
  data.fit.shuffle = false;
  data.fit.verbose = 0;
  return data;
}

/// The layer keeps what overflows from losses and predictions, but not from gradients.
PromiseCase skipping(const std::string& name, const std::function<Optimizer()>& optimizer) {
  return {
      name,
      [=](const std::string& dtype) {
        const Sequential net({Input({4}, {.dtype = dtype}), Dense(3, {.activation = "tanh", .dtype = dtype}),
                              Dense(1, {.dtype = dtype})});
        net.compile({.optimizer = optimizer(), .loss = MeanSquaredError()});
        return net;
      },
      with_overflow};
}

TEST(PromiseOfLossScales, AStepThatOverflowsIsSkippedByAll) {
  const auto scaled = [] {
    return LossScaleOptimizer(Adam(0.05), {.initial_scale = 256.0, .dynamic_growth_steps = 3});
  };
  at_every_place([&](const Place&, const Strategy& strategy) {
    const StrategyScope scope(strategy.shared());
    const PromiseCase training = skipping("skips", scaled);
    set_random_seed(4);
    const Model net = training.make("float32");
    const CaseData data = training.data(DType::float32);
    net.fit(data.x, data.y, data.fit);
    // 5 batches and twice the third skipped: 256, then 128; 4, 5, 1 double it, 2; 3 halves it; 4, 5
    EXPECT_EQ(net.optimizer().iterations(), 8);
    EXPECT_EQ(net.optimizer().node().loss_scale(), 128.0);
    for (const Variable& weight : net.weights())
      for (const float value : weight.value().to_vector<float>()) EXPECT_TRUE(std::isfinite(value));
  });
}

PromiseCase finite(const std::function<Optimizer()>& optimizer) {
  PromiseCase training = skipping("finite", optimizer);
  training.data = [](DType dtype) {
    CaseData data = with_overflow(dtype);
    data.x = {random_numbers(3, {kRows, 4}, dtype)};
    return data;
  };
  return training;
}

TEST(PromiseOfLossScales, ScalesChangeNothingElse) {
  expect_promise(finite([] {
    return LossScaleOptimizer(Adam({.learning_rate = 0.05, .clipnorm = 0.5}), {.dynamic_growth_steps = 4});
  }));
}

TEST(PromiseOfMultiOptimizer, EachItsVariables) {
  expect_promise(finite([] {
    return MultiOptimizer(
        OptimizerMap(SGD({.learning_rate = 0.05, .momentum = 0.9}),
                     {{".*/kernel", Adam({.learning_rate = 0.05, .global_clipnorm = 0.3})}}),
        {.loss_scale_factor = 16.0});
  }));
}

}  // namespace
}  // namespace nyala
