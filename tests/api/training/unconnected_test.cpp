// What Keras does with weights that a loss reaches only through ops without a gradient: None of a tape, in
// fit a warning and weights that stay as they are, whatever weight decay says. Sign has a gradient, zeros, so
// that momentum and weight decay go on.
#include <cmath>
#include <functional>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/nyala.h>
#include <nyala/tests/support/error_text.h>

namespace nyala::unconnected_test {
namespace {

using ::testing::ElementsAreArray;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

using Function = std::function<Tensor(const Tensor&)>;
using Floats = std::vector<float>;

Tensor numbers(const Shape& shape, uint64_t key) {
  return ops::random_uniform(shape, -1.0, 1.0, {.key = key});
}

Floats values(const Tensor& x) { return x.to_vector<float>(); }

TEST(Unconnected, ATapeGivesNone) {
  const std::vector<Function> without = {
      [](const Tensor& x) { return ops::floor(x); },
      [](const Tensor& x) { return ops::ceil(x); },
      [](const Tensor& x) { return ops::round(x); },
      [](const Tensor& x) { return ops::trunc(x); },
      [](const Tensor& x) { return ops::floor_divide(x, 2.0); },
      [](const Tensor& x) { return ops::greater(x, 0.0); },
      [](const Tensor& x) { return ops::argmax(x); },
      [](const Tensor& x) { return ops::cast(x, "int32"); },
      [](const Tensor& x) { return ops::zeros_like(x); },
      [](const Tensor& x) { return x.detached(); },
  };
  for (const Function& f : without) {
    const Variable v({-1.5, 0.0, 2.5});
    GradientTape tape({.persistent = true});
    const Tensor x = tape.watch(v.value());
    const Tensor of_tensor = ops::sum(ops::cast(f(x), "float32") * 3.0);
    const Tensor of_variable = ops::sum(ops::cast(f(v.value()), "float32") * 3.0);
    tape.stop();
    EXPECT_FALSE(tape.gradient(of_tensor, x).defined());
    EXPECT_FALSE(tape.gradient(of_variable, v).defined());
    EXPECT_FALSE(tape.jacobian(f(x), x).defined());
    const GradientOptions zero{.unconnected_gradients = UnconnectedGradients::zero};
    EXPECT_THAT(values(tape.gradient(of_variable, v, zero)), ElementsAreArray({0, 0, 0}));
  }
}

TEST(Unconnected, ATapeGivesZerosOfSign) {
  const Variable v({-1.5, 0.0, 2.5});
  GradientTape tape({.persistent = true});
  const Tensor x = v.value();
  const Tensor sign = ops::sum(ops::sign(x)), product = ops::sum(ops::sign(x) * x);
  tape.stop();
  EXPECT_THAT(values(tape.gradient(sign, v)), ElementsAreArray({0, 0, 0}));
  EXPECT_THAT(values(tape.gradient(product, v)), ElementsAreArray({-1, 0, 1}));
}

/// Layer a, `between`, layer b.
Model net(const Function& between) {
  const Tensor x = Input({3});
  const Tensor hidden = Dense(4, {.name = "a"})(x);
  return Model(x, Dense(1, {.name = "b"})(Lambda(between)(hidden)));
}

Tensor weight(const Model& model, const std::string& layer, size_t index) {
  return model.get_layer(layer).get_weights()[index];
}

struct Trained {
  Model model;
  Tensors a_before;
  int64_t iterations = 0;
};

Trained trained(const Function& between, const Optimizer& optimizer, int devices, bool freeze_a = false) {
  set_random_seed(5);
  MirroredStrategyConfig config;
  for (int i = 0; i < devices; ++i) config.devices.push_back("cpu:" + std::to_string(i));
  const Model model = MirroredStrategy(config).scope([&] { return net(between); });
  if (freeze_a) model.get_layer("a").set_trainable(false);
  Tensors before;
  for (const Tensor& w : model.get_layer("a").get_weights()) before.push_back(w.clone());
  model.compile({.optimizer = optimizer, .loss = "mse"});
  model.fit(numbers({12, 3}, 1), numbers({12, 1}, 2),
            {.batch_size = 5, .epochs = 4, .verbose = 0, .shuffle = false});
  return {model, before, optimizer.iterations()};
}

class UnconnectedFit : public ::testing::Test {
 protected:
  UnconnectedFit() { configure_logical_devices("cpu", 2); }
  ~UnconnectedFit() override { configure_logical_devices("cpu", 1); }
};

Tensor floored(const Tensor& x) { return ops::floor(x * 4.0); }
Tensor signed_only(const Tensor& x) { return ops::sign(x); }

using MakeOptimizer = std::function<Optimizer()>;

const std::vector<MakeOptimizer>& optimizers() {
  static const auto& all = *new std::vector<MakeOptimizer>{
      [] { return AdamW(0.01, {.weight_decay = 0.1}); },
      [] { return SGD({.learning_rate = 0.01, .momentum = 0.9, .weight_decay = 0.1}); },
      [] { return Ftrl(0.01); },
      [] { return AdamW(0.01, {.weight_decay = 0.1, .clipnorm = 0.5, .use_ema = true}); },
      [] { return AdamW(0.01, {.weight_decay = 0.1, .gradient_accumulation_steps = 2}); },
      [] { return LossScaleOptimizer(AdamW(0.01, {.weight_decay = 0.1})); },
      [] {
        return MultiOptimizer(OptimizerMap(AdamW(0.01, {.weight_decay = 0.1}), {{"a/kernel", SGD(0.1)}}));
      },
  };
  return all;
}

TEST_F(UnconnectedFit, WeightsInFrontOfFloorStayAndOthersTrain) {
  for (size_t i = 0; i < optimizers().size(); ++i)
    for (const int devices : {1, 2}) {
      SCOPED_TRACE("optimizer " + std::to_string(i) + ", devices " + std::to_string(devices));
      const Trained open = trained(floored, optimizers()[i](), devices);
      const Trained frozen = trained(floored, optimizers()[i](), devices, true);
      for (size_t w = 0; w < 2; ++w) {
        EXPECT_EQ(values(weight(open.model, "a", w)), values(open.a_before[w]));
        EXPECT_THAT(values(weight(open.model, "b", w)),
                    Pointwise(FloatNear(1e-6f), values(weight(frozen.model, "b", w))));
      }
      EXPECT_EQ(open.iterations, frozen.iterations);
    }
}

TEST_F(UnconnectedFit, OnTwoDevicesAsOnOne) {
  for (const MakeOptimizer& make : optimizers()) {
    const Trained one = trained(floored, make(), 1), two = trained(floored, make(), 2);
    EXPECT_THAT(values(weight(two.model, "b", 0)),
                Pointwise(FloatNear(1e-6f), values(weight(one.model, "b", 0))));
  }
}

/// Keras: `a/kernel` shrinks by (1 - 0.01 * 0.1) in each of 12 steps, `a/bias` begins with zeros.
TEST_F(UnconnectedFit, ZerosOfSignDecay) {
  for (const int devices : {1, 2}) {
    const Trained t = trained(signed_only, AdamW(0.01, {.weight_decay = 0.1}), devices);
    Floats expected = values(t.a_before[0]);
    for (float& w : expected) w *= static_cast<float>(std::pow(1.0 - 0.01 * 0.1, 12));
    EXPECT_THAT(values(weight(t.model, "a", 0)), Pointwise(FloatNear(1e-6f), expected));
  }
}

TEST_F(UnconnectedFit, NoGradientAtAllIsAnError) {
  const Loss floor_of_all([](const Tensor&, const Tensor& p) { return ops::mean(ops::floor(p), -1); });
  const Loss sign_of_all([](const Tensor&, const Tensor& p) { return ops::mean(ops::sign(p), -1); });
  for (const int devices : {1, 2}) {
    MirroredStrategyConfig config;
    for (int i = 0; i < devices; ++i) config.devices.push_back("cpu:" + std::to_string(i));
    const Model model = MirroredStrategy(config).scope([] { return net(floored); });
    const Tensor x = numbers({8, 3}, 1), y = numbers({8, 1}, 2);
    model.compile({.optimizer = "sgd", .loss = floor_of_all});
    EXPECT_THAT(error_text<InvalidArgumentError>([&] { model.fit(x, y, {.verbose = 0}); }),
                HasSubstr("no gradients provided for any variable"));
    const Tensors before = model.get_weights();
    model.compile({.optimizer = "sgd", .loss = sign_of_all});
    EXPECT_NO_THROW(model.fit(x, y, {.verbose = 0}));  // zeros are gradients
    for (size_t i = 0; i < before.size(); ++i) EXPECT_EQ(values(model.get_weights()[i]), values(before[i]));
  }
}

/// A loop of one's own meets the same None.
TEST_F(UnconnectedFit, ApplyGradientsLeavesThemOut) {
  const Variable with({1.0}), without({1.0});
  const SGD optimizer({.learning_rate = 0.1, .weight_decay = 0.5});
  GradientTape tape;
  const Tensor y = ops::sum(with.value() * 2.0 + ops::round(without.value()));
  optimizer.apply_gradients(tape.gradient(y, Variables{with, without}), {with, without});
  EXPECT_NEAR(with.value().item(), 0.95 - 0.2, 1e-6);
  EXPECT_EQ(without.value().item(), 1.0);
}

}  // namespace
}  // namespace nyala::unconnected_test
