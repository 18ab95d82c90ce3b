#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/nyala.h>
#include <nyala/tests/support/error_text.h>

namespace nyala {

namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;

Tensor doubles(const std::vector<double>& values, const Shape& shape) { return Tensor::from(values, shape); }
Tensor doubles(const std::vector<double>& values) { return Tensor::from(values); }
std::vector<double> values(const Tensor& x) { return x.to_vector<double>(); }

using Function = std::function<Tensor(const Tensor&)>;

/// Central differences of a function to a scalar.
std::vector<double> differences(const std::function<double(const Tensor&)>& f, const Tensor& at) {
  const double h = 1e-5;
  std::vector<double> slopes;
  for (int64_t i = 0; i < at.num_elements(); ++i) {
    const Tensor above = at.clone(), below = at.clone();
    above.data<double>()[static_cast<size_t>(i)] += h;
    below.data<double>()[static_cast<size_t>(i)] -= h;
    slopes.push_back((f(above) - f(below)) / (2 * h));
  }
  return slopes;
}

/// d/dx of sum(weights * (d sum(f) / dx)), which only second derivatives give.
Tensor slope(const Function& f, const Tensor& given) {
  GradientTape tape;
  const Tensor x = tape.watch(given);
  return tape.gradient(ops::sum(ops::square(f(x))), x);
}

void expect_second_derivative(const Function& f, const Tensor& at) {
  const auto penalty = [&](const Tensor& x) { return ops::sum(ops::square(slope(f, x))); };
  GradientTape outer;
  const Tensor x = outer.watch(at);
  const Tensor second = outer.gradient(penalty(x), x);
  const std::vector<double> expected =
      differences([&](const Tensor& moved) { return penalty(moved).item(); }, at);
  ASSERT_EQ(second.shape(), at.shape());
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(values(second)[i], expected[i], 2e-5 * (1 + std::abs(expected[i]))) << "element " << i;
}

TEST(GradientTape, VariablesAreWatchedByThemselves) {
  const Variable v(Tensor{2.0f, 3.0f});
  GradientTape tape;
  const Tensor loss = ops::sum(v.value() * v.value());
  const Tensors gradients = tape.gradient(loss, Variables{v});
  EXPECT_THAT(gradients[0].to_vector<float>(), ElementsAre(4, 6));
}

TEST(GradientTape, GivesGradientsOnce) {
  GradientTape tape;
  const Tensor x = tape.watch(Tensor{3.0f});
  const Tensor y = x * x;
  EXPECT_EQ(tape.gradient(y, x).item(), 6.0);
  EXPECT_THAT(error_text<StateError>([&] { tape.gradient(y, x); }), HasSubstr("persistent = true"));
}

TEST(GradientTape, APersistentOneGivesThemAgain) {
  GradientTape tape({.persistent = true});
  const Tensor x = tape.watch(Tensor{3.0f});
  const Tensor y = x * x, z = y * y;
  tape.stop();
  EXPECT_EQ(tape.gradient(z, x).item(), 108.0);
  EXPECT_EQ(tape.gradient(y, x).item(), 6.0);
}

TEST(GradientTape, ResultsOfOpsAreSources) {
  GradientTape tape;
  const Tensor x = tape.watch(Tensor{3.0f});
  const Tensor y = x * x, z = y * y;
  const Tensors gradients = tape.gradient(z, {x, y});
  EXPECT_EQ(gradients[0].item(), 108.0);
  EXPECT_EQ(gradients[1].item(), 18.0);
}

TEST(GradientTape, APersistentOneThatRecordsDifferentiatesItsGradients) {
  GradientTape tape({.persistent = true});
  const Tensor x = tape.watch(doubles({2.0}));
  const Tensor y = x * x * x;
  const Tensor dy = tape.gradient(y, x);
  const Tensor d2y = tape.gradient(dy, x);
  EXPECT_DOUBLE_EQ(dy.item(), 12.0);
  EXPECT_DOUBLE_EQ(d2y.item(), 12.0);
}

TEST(GradientTape, ThreeDeep) {
  GradientTape third;
  const Tensor x = third.watch(doubles({1.3}));
  Tensor d2;
  {
    GradientTape second;
    Tensor d1;
    {
      GradientTape first;
      d1 = first.gradient(ops::exp(x) * ops::sin(x), x);
    }
    d2 = second.gradient(d1, x);
  }
  // (e^x sin x)''' = 2 e^x (cos x - sin x)
  EXPECT_NEAR(third.gradient(d2, x).item(), 2 * std::exp(1.3) * (std::cos(1.3) - std::sin(1.3)), 1e-12);
}

TEST(GradientTape, AnInnerTapeSeesOnlyWhatWasComputedUnderIt) {
  GradientTape outer;
  const Tensor x = outer.watch(Tensor{2.0f});
  const Tensor y = x * x;
  {
    GradientTape inner;
    const Tensor z = y * x;
    EXPECT_EQ(inner.gradient(z, x).item(), 4.0);  // y is a constant here
  }
  EXPECT_EQ(outer.gradient(y * x, x).item(), 12.0);
}

TEST(GradientTape, NothingIsRecordedWhilePaused) {
  GradientTape tape;
  const Tensor x = tape.watch(Tensor{2.0f});
  Tensor y = x * x, side;
  {
    const auto paused = tape.stop_recording();
    side = x * 10.0;
  }
  EXPECT_EQ(tape.gradient(y + side, x).item(), 4.0);
}

TEST(GradientTape, WhatNothingLeadsTo) {
  GradientTape tape({.persistent = true});
  const Tensor x = tape.watch(Tensor{2.0f}), other = tape.watch(Tensor{1.0f, 2.0f});
  const Variable unused(1.0);
  const Tensor y = x * x;
  tape.stop();
  EXPECT_FALSE(tape.gradient(y, other).defined());
  EXPECT_FALSE(tape.gradient(y, unused).defined());
  const GradientOptions zero{.unconnected_gradients = UnconnectedGradients::zero};
  EXPECT_THAT(tape.gradient(y, other, zero).to_vector<float>(), ElementsAre(0, 0));
  EXPECT_EQ(tape.gradient(y, unused, zero).item(), 0.0);
}

TEST(GradientTape, OutputGradientsScale) {
  GradientTape tape;
  const Tensor x = tape.watch(Tensor{1.0f, 2.0f});
  const Tensor gradient = tape.gradient(x * x, x, {.output_gradients = Tensor{10.0f, 100.0f}});
  EXPECT_THAT(gradient.to_vector<float>(), ElementsAre(20, 400));
  GradientTape again;
  const Tensor z = again.watch(Tensor{1.0f});
  EXPECT_THROW(again.gradient(z * z, z, {.output_gradients = Tensor{1.0f, 2.0f}}), ShapeError);
}

TEST(GradientTape, WatchesOnlyWhatItWasToldWhereAccessesDoNotCount) {
  const Variable a(2.0), b(3.0);
  GradientTape tape({.watch_accessed_variables = false});
  tape.watch(Variables{b});
  const Tensor y = a.value() * b.value();
  const Tensors gradients = tape.gradient(y, Variables{a, b});
  EXPECT_FALSE(gradients[0].defined());
  EXPECT_EQ(gradients[1].item(), 2.0);
}

TEST(GradientTape, RefusesForeignTensors) {
  GradientTape tape({.persistent = true});
  const Tensor x = tape.watch(Tensor{2.0f});
  EXPECT_THROW(tape.watch(Tensor::zeros({2}, DType::int32)), InvalidArgumentError);
  EXPECT_THROW(tape.gradient(x * x, Tensor{1.0f}), StateError);
  EXPECT_FALSE(tape.gradient(Tensor{1.0f}, x).defined());  // None, as in TensorFlow
}

TEST(GradientTape, GradientsHaveBytesOfTheirOwn) {
  GradientTape tape;
  const Tensor a = tape.watch(Tensor{1.0f}), b = tape.watch(Tensor{2.0f});
  const Tensors gradients = tape.gradient(a + b, {a, b});
  gradients[0].data<float>()[0] = 7;
  EXPECT_EQ(gradients[1].item(), 1.0);
}

TEST(GradientTape, Jacobian) {
  GradientTape tape;
  const Tensor x = tape.watch(doubles({2, 3}));
  const Tensor y = ops::stack({x * x, x * 5.0});
  const Tensor j = tape.jacobian(y, x);
  EXPECT_EQ(j.shape(), Shape({2, 2, 2}));
  EXPECT_THAT(values(j), ElementsAre(4, 0, 0, 6, 5, 0, 0, 5));
}

TEST(GradientTape, VariablesOfTwoStrategiesAreNotMistaken) {
  configure_logical_devices("cpu", 2);
  const Strategy a = OneDeviceStrategy("cpu:0"), b = OneDeviceStrategy("cpu:0");
  const Variable v = a.scope([] { return Variable(2.0); }), w = b.scope([] { return Variable(5.0); });
  GradientTape tape;
  const Tensor y = v.value() * v.value() * w.value();
  const Tensors gradients = tape.gradient(y, Variables{v, w});
  EXPECT_EQ(gradients[0].item(), 20.0);
  EXPECT_EQ(gradients[1].item(), 4.0);
}

TEST(GradientTape, AVariableWrittenSinceItsUseIsAnErrorWhereTheGradientReadsIt) {
  const Variable v(2.0, {.name = "speed"});
  const auto squared_after = [&](const std::function<void()>& write) {
    v.assign(2.0);
    GradientTape tape;
    const Tensor y = v.value() * v.value();
    write();
    return tape.gradient(y, v);
  };
  EXPECT_FLOAT_EQ(squared_after([] {}).item(), 4.0);
  const auto text = [&](const std::function<void()>& write) {
    return error_text<StateError>([&] { squared_after(write); });
  };
  EXPECT_THAT(text([&] { v.assign(5.0); }), HasSubstr("variable 'speed' was written"));
  EXPECT_THAT(text([&] { v.assign_add(1.0); }), HasSubstr("take the gradient before"));
  EXPECT_THAT(text([&] { SGD(0.1).apply_gradients({Tensor(1.0f)}, {v}); }), HasSubstr("'speed'"));
  EXPECT_THAT(text([&] { get_strategy().update(v, [](const Tensor& x) { x.copy_from(Tensor(3.0f)); }); }),
              HasSubstr("'speed'"));
  EXPECT_FLOAT_EQ(squared_after([&] { Variable(1.0).assign(5.0); }).item(), 4.0) << "another one";
}

TEST(GradientTape, AVariableMayBeWrittenWhereTheGradientDoesNotReadTheOldValue) {
  const Variable v(2.0);
  GradientTape tape({.persistent = true});
  EXPECT_FLOAT_EQ(v.value().item(), 2.0);  // no use that a gradient needs
  const Tensor sum = v.value() + 1.0;
  v.assign(5.0);
  const Tensor square = v.value() * v.value();
  EXPECT_FLOAT_EQ(tape.gradient(sum, v).item(), 1.0);
  EXPECT_FLOAT_EQ(tape.gradient(square, v).item(), 10.0);
  v.assign(6.0);
  EXPECT_THROW(tape.gradient(square, v), StateError);
  const Tensor cube = v.value() * v.value() * v.value();  // recorded anew
  EXPECT_FLOAT_EQ(tape.gradient(cube, v).item(), 108.0);
}

/// A tape for each of two models, as in adversarial training: the first model's gradient goes through the
/// second.
TEST(GradientTape, AnUpdateBetweenTwoGradientsIsAnErrorWhereTheSecondReadsIt) {
  configure_logical_devices("cpu", 2);
  for (const int devices : {1, 2}) {
    MirroredStrategyConfig config{.devices = {"cpu:0"}};
    if (devices == 2) config.devices.push_back("cpu:1");
    const MirroredStrategy strategy(config);
    const auto made = [](int64_t units) {
      return Sequential({Input({2}), Dense(units, {.use_bias = false, .kernel_initializer = "ones"})});
    };
    const Sequential a = strategy.scope([&] { return made(2); }), b = strategy.scope([&] { return made(1); });
    const SGD optimizer(0.1);
    const auto step = [&](bool update_first) {
      strategy.run([&] {
        GradientTape of_a, of_b;
        const Tensor y = ops::sum(b(a(Tensor::ones({1, 2}))));
        const Tensors second = of_b.gradient(y, b.trainable_variables());
        Tensors first;
        if (!update_first) first = of_a.gradient(y, a.trainable_variables());
        optimizer.apply_gradients(second, b.trainable_variables());
        if (update_first) first = of_a.gradient(y, a.trainable_variables());
        EXPECT_EQ(first[0].shape(), Shape({2, 2}));
      });
    };
    step(false);
    EXPECT_THAT(error_text<StateError>([&] { step(true); }), HasSubstr("kernel' was written"));
    step(false);
  }
  configure_logical_devices("cpu", 1);
}

TEST(GradientTape, KeepsAVariableThatIsGone) {
  GradientTape tape;
  const Tensor x = tape.watch(Tensor(3.0f));
  Tensor y;
  {
    const Variable v(2.0);
    y = x * v.value();
  }
  const Variable recycled(7.0);  // would take the memory
  EXPECT_FLOAT_EQ(tape.gradient(y, x).item(), 2.0);
}

TEST(SecondDerivatives, OfElementwiseFunctions) {
  const Tensor x = doubles({0.3, -0.7, 1.9, -2.4}), inside = doubles({0.3, -0.7, 0.9, -0.2}),
               positive = doubles({0.4, 1.7, 2.9, 5.1}), above = doubles({1.4, 1.7, 2.9, 5.1});
  const std::vector<std::pair<Function, Tensor>> cases{
      {[](const Tensor& t) { return ops::exp(t); }, x},
      {[](const Tensor& t) { return ops::expm1(t); }, x},
      {[](const Tensor& t) { return ops::log(t); }, positive},
      {[](const Tensor& t) { return ops::log1p(t); }, positive},
      {[](const Tensor& t) { return ops::log2(t); }, positive},
      {[](const Tensor& t) { return ops::log10(t); }, positive},
      {[](const Tensor& t) { return ops::sqrt(t); }, positive},
      {[](const Tensor& t) { return ops::rsqrt(t); }, positive},
      {[](const Tensor& t) { return ops::reciprocal(t); }, positive},
      {[](const Tensor& t) { return ops::erf(t); }, x},
      {[](const Tensor& t) { return ops::sin(t); }, x},
      {[](const Tensor& t) { return ops::cos(t); }, x},
      {[](const Tensor& t) { return ops::tan(t); }, inside},
      {[](const Tensor& t) { return ops::arcsin(t); }, inside},
      {[](const Tensor& t) { return ops::arccos(t); }, inside},
      {[](const Tensor& t) { return ops::arctan(t); }, x},
      {[](const Tensor& t) { return ops::sinh(t); }, x},
      {[](const Tensor& t) { return ops::cosh(t); }, x},
      {[](const Tensor& t) { return ops::tanh(t); }, x},
      {[](const Tensor& t) { return ops::arcsinh(t); }, x},
      {[](const Tensor& t) { return ops::arccosh(t); }, above},
      {[](const Tensor& t) { return ops::arctanh(t); }, inside},
      {[](const Tensor& t) { return ops::sigmoid(t); }, x},
      {[](const Tensor& t) { return ops::log_sigmoid(t); }, x},
      {[](const Tensor& t) { return ops::relu(t); }, x},
      {[](const Tensor& t) { return ops::leaky_relu(t, 0.3); }, x},
      {[](const Tensor& t) { return ops::elu(t, 0.7); }, x},
      {[](const Tensor& t) { return ops::selu(t); }, x},
      {[](const Tensor& t) { return ops::gelu(t, false); }, x},
      {[](const Tensor& t) { return ops::gelu(t, true); }, x},
      {[](const Tensor& t) { return ops::silu(t); }, x},
      {[](const Tensor& t) { return ops::softplus(t); }, x},
      {[](const Tensor& t) { return ops::softsign(t); }, x},
      {[](const Tensor& t) { return ops::mish(t); }, x},
      {[](const Tensor& t) { return ops::hard_sigmoid(t); }, x},
      {[](const Tensor& t) { return ops::absolute(t); }, x},
      {[](const Tensor& t) { return ops::square(t); }, x},
      {[](const Tensor& t) { return ops::clip(t, -1, 1); }, x},
      {[](const Tensor& t) { return ops::power(t, 3.0); }, x},
      {[](const Tensor& t) { return ops::power(t, 1.5); }, positive},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    expect_second_derivative(cases[i].first, cases[i].second);
  }
}

TEST(SecondDerivatives, OfFunctionsOfTwoTensors) {
  const Tensor x = doubles({0.3, -0.7, 1.9, -2.4}), positive = doubles({0.4, 1.7, 2.9, 1.1});
  const Tensor other = doubles({1.2, 0.5, -1.4, 2.2});
  const std::vector<std::pair<Function, Tensor>> cases{
      {[&](const Tensor& t) { return t * other / (ops::square(t) + 1.0); }, x},
      {[&](const Tensor& t) { return other / t - t; }, positive},
      {[&](const Tensor& t) { return ops::maximum(t * t, other); }, x},
      {[&](const Tensor& t) { return ops::minimum(t * t, other * t); }, x},
      {[&](const Tensor& t) { return ops::power(t, t); }, positive},
      {[&](const Tensor& t) { return ops::power(t, other); }, positive},
      {[&](const Tensor& t) { return ops::squared_difference(t * t, other); }, x},
      {[&](const Tensor& t) { return ops::arctan2(t, other); }, x},
      {[&](const Tensor& t) { return ops::arctan2(other, t * t); }, x},
      {[&](const Tensor& t) { return ops::where(ops::greater(t, other), t * t, t * t * t); }, x},
      {[](const Tensor& t) {
         return t * ops::slice_axis(t, 0, {1, 2, 1}) + ops::sum(t * t);
       },
       x},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    expect_second_derivative(cases[i].first, cases[i].second);
  }
}

TEST(SecondDerivatives, OfMatricesReductionsAndMovedElements) {
  const Tensor x = doubles({0.3, -0.7, 1.9, -2.4, 0.8, 1.1}, {2, 3});
  const Tensor w = doubles({0.5, -0.2, 0.7, 0.1, -0.9, 0.4}, {3, 2});
  const std::vector<Function> cases{
      [&](const Tensor& t) { return ops::matmul(t, w); },
      [](const Tensor& t) { return ops::matmul(t, ops::transpose(t)); },
      [&](const Tensor& t) { return ops::matmul(ops::matmul(t, w), t); },
      [](const Tensor& t) {
        return ops::matmul(ops::reshape(t, {3, 1, 2}), ops::reshape(t, {3, 2, 1}));
      },
      [](const Tensor& t) { return ops::softmax(t); },
      [](const Tensor& t) { return ops::softmax(t, 0); },
      [](const Tensor& t) { return ops::log_softmax(t); },
      [](const Tensor& t) { return ops::logsumexp(t, {1}); },
      [](const Tensor& t) { return ops::mean(t * t, {0}); },
      [](const Tensor& t) { return ops::sum(t * t * t, {1}, true); },
      [](const Tensor& t) { return ops::max(t * t, {1}); },
      [](const Tensor& t) { return ops::min(t * t * t, {0}); },
      [](const Tensor& t) { return ops::var(t, {0}); },
      [](const Tensor& t) {
        return ops::concatenate({t * t, ops::exp(t)}, 1);
      },
      [](const Tensor& t) { return ops::flip(t * t, {1}) * t; },
      [](const Tensor& t) {
        return ops::slice_axis(t * t, 1, {2, ops::kToEnd, -2}) * 2.0;
      },
      [](const Tensor& t) { return ops::repeat(t * t, 2, 1); },
      [](const Tensor& t) {
        return ops::broadcast_to(ops::mean(t * t * t, {0}, true), {4, 3});
      },
      [](const Tensor& t) {
        return ops::pad(t * t, {{1, 0}, {0, 2}});
      },
      [](const Tensor& t) { return ops::expand_dims(ops::squeeze(ops::sum(t * t, {0}, true)), 0) * t; },
      [&](const Tensor& t) {
        return ops::dense(t, w, doubles({0.1, 0.2}), ops::Activation::tanh);
      },
      [&](const Tensor& t) {
        return ops::dense(t, w, doubles({0.1, 0.2}), ops::Activation::sigmoid);
      },
      [&](const Tensor& t) { return ops::dense(t, w, {}, ops::Activation::relu); },
      [&](const Tensor& t) { return ops::dense(w, t, ops::sum(t, {0}), ops::Activation::tanh); },
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    expect_second_derivative(cases[i], x);
  }
}

/// Never zeros where there is a derivative that nobody wrote.
TEST(SecondDerivatives, ThroughOtherOpsAreRefused) {
  const Tensor x = Tensor::full({1, 4, 4, 1}, 0.5), kernel = Tensor::full({2, 2, 1, 1}, 0.3);
  const std::vector<std::pair<std::string, Function>> cases{
      {"conv2d", [&](const Tensor& t) { return ops::conv2d(t, kernel * ops::mean(t)); }},
      {"max_pooling2d", [](const Tensor& t) { return ops::max_pooling2d(t * t); }},
      {"prod", [](const Tensor& t) { return ops::prod(t); }},
  };
  for (const auto& [name, f] : cases) {
    GradientTape outer;
    const Tensor at = outer.watch(x);
    const Tensor penalty = ops::sum(ops::square(slope(f, at)));
    EXPECT_THAT(error_text<InvalidArgumentError>([&] { outer.gradient(penalty, at); }), HasSubstr(name));
  }
}

/// First derivatives still go through them under an outer tape.
TEST(SecondDerivatives, OtherOpsDoNotDisturbFirstOnes) {
  const Tensor kernel = Tensor::full({2, 2, 1, 1}, 0.3);
  GradientTape outer;
  const Tensor x = outer.watch(Tensor::full({1, 4, 4, 1}, 0.5));
  Tensor inner_gradient;
  {
    GradientTape inner;
    inner_gradient = inner.gradient(ops::sum(ops::conv2d(x, kernel)), x);
  }
  const Tensor y = ops::sum(ops::conv2d(x, kernel)) + ops::sum(inner_gradient.detached());
  EXPECT_NEAR(ops::sum(outer.gradient(y, x)).item(), ops::sum(inner_gradient).item(), 1e-5);
}

/// The loss of a critic with a penalty on the norm of its slope in the input, by central differences.
TEST(SecondDerivatives, GradientPenaltyOfAnMlp) {
  clear_session();
  const Sequential critic(
      {Input({3}, {.dtype = "float64"}), Dense(5, {.activation = "tanh", .dtype = "float64"}),
       Dense(4, {.activation = "softplus", .dtype = "float64"}),
       Dense(2, {.activation = "softmax", .dtype = "float64"}), Dense(1, {.dtype = "float64"})});
  const Tensor data = doubles({0.3, -0.7, 1.9, -0.4, 0.8, 1.1, 0.2, -1.3, 0.6, 0.9, -0.1, 0.5}, {4, 3});
  const auto loss = [&] {
    Tensor slopes, score;
    {
      GradientTape inner;
      const Tensor x = inner.watch(data);
      score = critic(x);
      slopes = inner.gradient(ops::sum(score), x);
    }
    const Tensor norms = ops::sqrt(ops::sum(ops::square(slopes), {1}) + 1e-12);
    return ops::mean(score) + ops::mean(ops::square(norms - 1.0)) * 10.0;
  };
  GradientTape outer;
  const Variables weights = critic.trainable_variables();
  const Tensors gradients = outer.gradient(loss(), weights);
  for (size_t i = 0; i < weights.size(); ++i) {
    const Tensor before = weights[i].value(0).clone();
    const std::vector<double> expected = differences(
        [&](const Tensor& moved) {
          weights[i].assign(moved);
          return loss().item();
        },
        before);
    weights[i].assign(before);
    EXPECT_THAT(values(gradients[i]), Pointwise(DoubleNear(1e-6), expected)) << weights[i].path();
  }
}

}  // namespace

}  // namespace nyala
