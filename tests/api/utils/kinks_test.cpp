// What functions with a kink give there, against Keras 3.15 on TensorFlow. Each is asked for 40 elements, so
// that the vector loops run, and for one in double, by the reference loop.
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/api/activations/activations.h>
#include <nyala/api/layers/activations/leaky_relu.h>
#include <nyala/api/layers/activations/prelu.h>
#include <nyala/api/layers/activations/relu.h>
#include <nyala/api/initializers/constant.h>
#include <nyala/api/utils/gradient_tape.h>
#include <nyala/backend/ops/all.h>

namespace nyala {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Kink {
  const char* name;
  std::function<Tensor(const Tensor&)> f;
  double x, slope;
};

const std::vector<Kink>& kinks() {
  using namespace activations;
  static const auto& table = *new std::vector<Kink>{
      {"relu", [](const Tensor& x) { return relu(x); }, 0, 0},
      {"relu -0", [](const Tensor& x) { return relu(x); }, -0.0, 0},
      {"relu, slope", [](const Tensor& x) { return relu(x, {.negative_slope = 0.1}); }, 0, 0.1},
      {"relu, threshold", [](const Tensor& x) { return relu(x, {.threshold = 1.0}); }, 1, 0},
      {"relu, slope and maximum",
       [](const Tensor& x) { return relu(x, {.negative_slope = 0.1, .max_value = 2.0}); }, 0, 0},
      {"relu, slope and threshold",
       [](const Tensor& x) { return relu(x, {.negative_slope = 0.1, .threshold = 1.0}); }, 1, 0},
      {"relu6 at 0", [](const Tensor& x) { return relu6(x); }, 0, 0},
      {"relu6 at 6", [](const Tensor& x) { return relu6(x); }, 6, 0},
      {"ReLU(6) at 6", ReLU({.max_value = 6.0}), 6, 0},
      {"ReLU(2) at 2", ReLU({.max_value = 2.0}), 2, 1},
      {"ReLU(2) above 2", ReLU({.max_value = 2.0}), 2.0000002, 0},
      {"relu, maximum", [](const Tensor& x) { return relu(x, {.max_value = 2.0}); }, 2, 1},
      {"relu, maximum, at 0", [](const Tensor& x) { return relu(x, {.max_value = 2.0}); }, 0, 0},
      {"relu, slope, at the maximum",
       [](const Tensor& x) { return relu(x, {.negative_slope = 0.1, .max_value = 2.0}); }, 2, 1},
      {"relu, slope, above the maximum",
       [](const Tensor& x) { return relu(x, {.negative_slope = 0.1, .max_value = 2.0}); }, 2.0000002, 0},
      {"relu, all, at the threshold",
       [](const Tensor& x) { return relu(x, {.negative_slope = 0.1, .max_value = 2.0, .threshold = 0.5}); },
       0.5, 0},
      {"relu, all, below the threshold",
       [](const Tensor& x) { return relu(x, {.negative_slope = 0.1, .max_value = 2.0, .threshold = 0.5}); },
       0.25, 0.1},
      {"relu, all, at the maximum",
       [](const Tensor& x) { return relu(x, {.negative_slope = 0.1, .max_value = 2.0, .threshold = 0.5}); },
       2, 1},
      {"relu 6 with a threshold, at 6",
       [](const Tensor& x) { return relu(x, {.max_value = 6.0, .threshold = 1.0}); }, 6, 1},
      {"relu, threshold and maximum equal",
       [](const Tensor& x) { return relu(x, {.negative_slope = 0.1, .max_value = 2.0, .threshold = 2.0}); },
       2, 0},
      {"leaky_relu", [](const Tensor& x) { return leaky_relu(x); }, 0, 0.2},
      {"LeakyReLU", LeakyReLU(), 0, 0.3},
      {"PReLU", [](const Tensor& x) { return PReLU({.alpha_initializer = Constant(0.3)})(x); }, 0, 0},
      {"elu", [](const Tensor& x) { return elu(x); }, 0, 1},
      {"elu, alpha", [](const Tensor& x) { return elu(x, 2.0); }, 0, 2},
      {"selu", [](const Tensor& x) { return selu(x); }, 0, 1.0507009873554805},
      {"selu -0", [](const Tensor& x) { return selu(x); }, -0.0, 1.0507009873554805},
      {"hard_sigmoid at -3", [](const Tensor& x) { return hard_sigmoid(x); }, -3, 0},
      {"hard_sigmoid at 3", [](const Tensor& x) { return hard_sigmoid(x); }, 3, 0},
      {"hard_silu at -3", [](const Tensor& x) { return hard_silu(x); }, -3, 0},
      {"hard_silu at 3", [](const Tensor& x) { return hard_silu(x); }, 3, 1},
      {"hard_tanh at -1", [](const Tensor& x) { return hard_tanh(x); }, -1, 1},
      {"hard_tanh at 1", [](const Tensor& x) { return hard_tanh(x); }, 1, 1},
      {"hard_shrink", [](const Tensor& x) { return hard_shrink(x); }, 0.5, 0},
      {"soft_shrink", [](const Tensor& x) { return soft_shrink(x); }, -0.5, 0},
      {"threshold", [](const Tensor& x) { return threshold(x, 1.0, 2.0); }, 1, 0},
      {"softsign", [](const Tensor& x) { return softsign(x); }, 0, 1},
      {"sparse_plus at -1", [](const Tensor& x) { return sparse_plus(x); }, -1, 0},
      {"sparse_plus at 1", [](const Tensor& x) { return sparse_plus(x); }, 1, 1},
      {"sparse_sigmoid at -1", [](const Tensor& x) { return sparse_sigmoid(x); }, -1, 0},
      {"sparse_sigmoid at 1", [](const Tensor& x) { return sparse_sigmoid(x); }, 1, 0},
      {"absolute", [](const Tensor& x) { return ops::absolute(x); }, 0, 0},
      {"maximum of equals", [](const Tensor& x) { return ops::maximum(x, 0.0); }, 0, 1},
      {"minimum of equals", [](const Tensor& x) { return ops::minimum(x, 0.0); }, 0, 1},
      {"clip at the lower bound", [](const Tensor& x) { return ops::clip(x, -1, 1); }, -1, 1},
      {"clip at the upper bound", [](const Tensor& x) { return ops::clip(x, -1, 1); }, 1, 1},
      {"sqrt", [](const Tensor& x) { return ops::sqrt(x); }, 0, kInfinity},
      {"power", [](const Tensor& x) { return ops::power(x, 0.5); }, 0, kInfinity},
  };
  return table;
}

double slope_at(const Kink& kink, int64_t count, DType dtype) {
  GradientTape tape;
  const Tensor x = tape.watch(Tensor::full({1, count}, kink.x, dtype));
  return ops::cast(tape.gradient(kink.f(x), x), "float64")
      .to_vector<double>()
      .at(static_cast<size_t>(count - 1));
}

TEST(Kinks, HaveTheSlopesOfKeras) {
  for (const Kink& kink : kinks()) {
    SCOPED_TRACE(kink.name);
    EXPECT_FLOAT_EQ(static_cast<float>(slope_at(kink, 40, DType::float32)), static_cast<float>(kink.slope));
    const bool is_layer =
        std::string(kink.name).find("LU") != std::string::npos;  // layers compute in float32
    if (is_layer) continue;
    EXPECT_DOUBLE_EQ(slope_at(kink, 1, DType::float64), kink.slope);
  }
}

/// The slopes that a second derivative is made of.
TEST(Kinks, RecordedSlopesAreTheSame) {
  for (const Kink& kink : kinks()) {
    if (kink.slope == kInfinity) continue;
    SCOPED_TRACE(kink.name);
    GradientTape outer, tape;
    const Tensor x = tape.watch(Tensor::full({1, 3}, kink.x));
    EXPECT_FLOAT_EQ(tape.gradient(kink.f(x), x).to_vector<float>()[0], static_cast<float>(kink.slope));
  }
}

}  // namespace

}  // namespace nyala
