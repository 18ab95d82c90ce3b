#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/activation.h>
#include <nyala/backend/ops/elementwise/exponential.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/elementwise/trigonometric.h>
#include <nyala/tests/conformance/ops/op_checks.h>

namespace nyala {

namespace {

using namespace testing;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }
double softplus_of(double x) { return std::log1p(std::exp(x)); }

struct UnaryCase {
  const char* name;
  Tensor (*op)(const Tensor&);
  double (*expected)(double);
  double low = -3, high = 3;
  bool has_gradient = true;
};

std::vector<UnaryCase> functions() {
  return {
      {"exp", ops::exp, [](double x) { return std::exp(x); }},
      {"expm1", ops::expm1, [](double x) { return std::expm1(x); }},
      {"log", ops::log, [](double x) { return std::log(x); }, 0.1, 4},
      {"log1p", ops::log1p, [](double x) { return std::log1p(x); }, -0.9, 4},
      {"log2", ops::log2, [](double x) { return std::log2(x); }, 0.1, 4},
      {"log10", ops::log10, [](double x) { return std::log10(x); }, 0.1, 4},
      {"sqrt", ops::sqrt, [](double x) { return std::sqrt(x); }, 0.1, 4},
      {"rsqrt", ops::rsqrt, [](double x) { return 1 / std::sqrt(x); }, 0.1, 4},
      {"reciprocal", ops::reciprocal, [](double x) { return 1 / x; }, 0.2, 4},
      {"erf", ops::erf, [](double x) { return std::erf(x); }},
      {"sin", ops::sin, [](double x) { return std::sin(x); }},
      {"cos", ops::cos, [](double x) { return std::cos(x); }},
      {"tan", ops::tan, [](double x) { return std::tan(x); }, -1.2, 1.2},
      {"arcsin", ops::arcsin, [](double x) { return std::asin(x); }, -0.9, 0.9},
      {"arccos", ops::arccos, [](double x) { return std::acos(x); }, -0.9, 0.9},
      {"arctan", ops::arctan, [](double x) { return std::atan(x); }},
      {"sinh", ops::sinh, [](double x) { return std::sinh(x); }},
      {"cosh", ops::cosh, [](double x) { return std::cosh(x); }},
      {"arcsinh", ops::arcsinh, [](double x) { return std::asinh(x); }},
      {"arccosh", ops::arccosh, [](double x) { return std::acosh(x); }, 1.2, 4},
      {"arctanh", ops::arctanh, [](double x) { return std::atanh(x); }, -0.9, 0.9},
      {"absolute", ops::absolute, [](double x) { return std::abs(x); }},
      {"square", ops::square, [](double x) { return x * x; }},
      {"negative", ops::negative, [](double x) { return -x; }},
      {"sign", ops::sign, [](double x) { return double((x > 0) - (x < 0)); }},
      {"floor", ops::floor, [](double x) { return std::floor(x); }, -3, 3, false},
      {"ceil", ops::ceil, [](double x) { return std::ceil(x); }, -3, 3, false},
      {"trunc", ops::trunc, [](double x) { return std::trunc(x); }, -3, 3, false},
      {"round", ops::round, [](double x) { return std::nearbyint(x); }, -3, 3, false},
      {"sigmoid", ops::sigmoid, sigmoid_of},
      {"tanh", ops::tanh, [](double x) { return std::tanh(x); }},
      {"relu", [](const Tensor& x) { return ops::relu(x); }, [](double x) { return std::max(x, 0.0); }},
      {"relu6", ops::relu6, [](double x) { return std::min(std::max(x, 0.0), 6.0); }, -9, 9},
      {"leaky_relu", [](const Tensor& x) { return ops::leaky_relu(x); },
       [](double x) { return x > 0 ? x : 0.2 * x; }},
      {"relu with all parameters",
       [](const Tensor& x) {
         return ops::relu(x, {.negative_slope = 0.1, .max_value = 2.0, .threshold = 0.5});
       },
       [](double x) { return x >= 2     ? 2.0
                             : x >= 0.5 ? x
                                        : 0.1 * (x - 0.5); }},
      {"elu", [](const Tensor& x) { return ops::elu(x); },
       [](double x) { return x > 0 ? x : std::expm1(x); }},
      {"elu(0.3)", [](const Tensor& x) { return ops::elu(x, 0.3); },
       [](double x) { return x > 0 ? x : 0.3 * std::expm1(x); }},
      {"selu", ops::selu,
       [](double x) { return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * std::expm1(x)); }},
      {"gelu", [](const Tensor& x) { return ops::gelu(x, false); },
       [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }},
      {"gelu(approximate)", [](const Tensor& x) { return ops::gelu(x, true); },
       [](double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }},
      {"silu", ops::silu, [](double x) { return x * sigmoid_of(x); }},
      {"softplus", ops::softplus, softplus_of},
      {"softsign", ops::softsign, [](double x) { return x / (1 + std::abs(x)); }},
      {"hard_sigmoid", ops::hard_sigmoid, [](double x) { return std::clamp(x / 6 + 0.5, 0.0, 1.0); }, -5, 5},
      {"hard_silu", ops::hard_silu, [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }, -5, 5},
      {"mish", ops::mish, [](double x) { return x * std::tanh(softplus_of(x)); }},
      {"exponential", ops::exponential, [](double x) { return std::exp(x); }},
      {"log_sigmoid", ops::log_sigmoid, [](double x) { return std::log(sigmoid_of(x)); }},
      {"clip", [](const Tensor& x) { return ops::clip(x, -1, 1.5); },
       [](double x) { return std::clamp(x, -1.0, 1.5); }}};
}

TEST(UnaryTest, ValuesGradientsAndKernels) {
  uint64_t seed = 1;
  for (const UnaryCase& c : functions()) {
    SCOPED_TRACE(c.name);
    const OpFunction f = [&](const Tensors& x) { return c.op(x[0]); };
    const Tensor wide = random_tensor({5, 7}, seed++, c.low, c.high, DType::float64);
    std::vector<double> expected = values_of(wide);
    for (double& value : expected) value = c.expected(value);
    expect_close(c.op(wide), tensor_of(expected, {5, 7}, DType::float64), {1e-13, 1e-14});
    if (c.has_gradient) expect_gradients(f, {wide});
    // 1 - y^2 of a result that was rounded: 16 bits leave little of it where y is close to 1.
    const double roundings = std::string_view(c.name) == "tanh" ? 64 : 4;
    for (const Shape& shape : {Shape{}, Shape{1}, Shape{0}, Shape{3, 0}, Shape{37}, Shape{3, 5, 11}})
      expect_kernels_agree(f, {random_tensor(shape, seed++, c.low, c.high)},
                           {.relative = 2e-6, .absolute = 1e-6, .half_gradients = roundings});
    EXPECT_EQ(c.op(Tensor::abstract({None, 3}, DType::float32)).shape(), Shape({None, 3}));
  }
}

TEST(UnaryTest, LinearIsTheTensorItself) {
  const Tensor x = random_tensor({3}, 1);
  EXPECT_EQ(ops::linear(x).raw(), x.raw());
}

TEST(UnaryTest, OutsideTheDomain) {
  const Tensor x = tensor_of({kNan, kInfinity, -kInfinity, 0, -0.0, -1, 1e30, -1e30, 90, -90, 1e-40}, {11});
  for (const UnaryCase& c : functions()) {
    SCOPED_TRACE(c.name);
    expect_kernels_agree([&](const Tensors& t) { return c.op(t[0]); }, {x},
                         {.relative = 2e-6, .absolute = 1e-6, .half = false});  // float32 overflows
  }
  expect_close(ops::relu(x), tensor_of({kNan, kInfinity, 0, 0, 0, 0, 1e30, 0, 90, 0, 1e-40}, {11}));
  expect_close(ops::sigmoid(x), tensor_of({kNan, 1, 0, 0.5, 0.5, sigmoid_of(-1), 1, 0, 1, 0, 0.5}, {11}));
  expect_close(ops::log(tensor_of({0, -1, kInfinity}, {3})), tensor_of({-kInfinity, kNan, kInfinity}, {3}));
  expect_close(ops::softplus(x), tensor_of({kNan, kInfinity, 0, std::log(2), std::log(2), softplus_of(-1),
                                            1e30, 0, 90, 0, std::log(2)},
                                           {11}));
  expect_close(ops::clip(tensor_of({kNan, kInfinity, -kInfinity}, {3}), 0, 1), tensor_of({kNan, 1, 0}, {3}));
  expect_close(ops::round(tensor_of({0.5, 1.5, -0.5, -2.5}, {4})), tensor_of({0, 2, 0, -2}, {4}));
}

TEST(UnaryTest, SlopesAtKinksAreThoseOfTensorFlow) {
  const auto slope = [](Tensor (*op)(const Tensor&), double at) {
    const Tensor x = tensor_of({at}, {1});
    const double with =
        values_of(run_with_gradients([&](const Tensors& t) { return op(t[0]); }, {x}).gradients[0])[0];
    const double seed = values_of(random_tensor({1}, 77, -1.0, 1.0))[0];
    return with / seed;
  };
  EXPECT_EQ(slope([](const Tensor& x) { return ops::relu(x); }, 0), 0);
  EXPECT_EQ(slope(ops::relu6, 6), 0);
  EXPECT_FLOAT_EQ(static_cast<float>(slope([](const Tensor& x) { return ops::leaky_relu(x); }, 0)), 0.2f);
  EXPECT_EQ(slope(ops::absolute, 0), 0);
  EXPECT_EQ(slope([](const Tensor& x) { return ops::elu(x); }, 0), 1);
  EXPECT_EQ(slope([](const Tensor& x) { return ops::clip(x, 0, 1); }, 0), 1);
  EXPECT_EQ(slope([](const Tensor& x) { return ops::clip(x, 0, 1); }, 1), 1);
  EXPECT_EQ(slope(ops::hard_sigmoid, 3), 0);
  EXPECT_EQ(slope(ops::hard_sigmoid, -3), 0);
}

TEST(UnaryTest, IntegersKeepOrBecomeFloat) {
  const Tensor x = tensor_of({-2, 0, 3}, {3}, DType::int32);
  expect_close(ops::absolute(x), tensor_of({2, 0, 3}, {3}, DType::int32));
  expect_close(ops::relu(x), tensor_of({0, 0, 3}, {3}, DType::int32));
  expect_close(ops::sign(x), tensor_of({-1, 0, 1}, {3}, DType::int32));
  expect_close(ops::square(x), tensor_of({4, 0, 9}, {3}, DType::int32));
  expect_close(ops::clip(x, -1, 2), tensor_of({-1, 0, 2}, {3}, DType::int32));
  expect_close(ops::clip(x, -1.5, 2), tensor_of({-1.5, 0, 2}, {3}));
  expect_close(ops::round(x), x);
  expect_close(ops::floor(x), tensor_of({-2, 0, 3}, {3}));
  expect_close(ops::leaky_relu(x), tensor_of({-0.4, 0, 3}, {3}));
  expect_close(ops::exp(tensor_of({0, 1}, {2}, DType::bool_)), tensor_of({1, M_E}, {2}));
  EXPECT_EQ(ops::absolute(tensor_of({1}, {1}, DType::bool_)).dtype(), DType::int32);
  EXPECT_EQ(ops::exp(Tensor::zeros({2}, DType::float16)).dtype(), DType::float16);
}

TEST(UnaryTest, TestsOfValues) {
  const Tensor x = tensor_of({1, kNan, kInfinity, -kInfinity, 0}, {5});
  EXPECT_EQ(ops::isnan(x).to_vector<bool>(), std::vector<bool>({false, true, false, false, false}));
  EXPECT_EQ(ops::isinf(x).to_vector<bool>(), std::vector<bool>({false, false, true, true, false}));
  EXPECT_EQ(ops::isfinite(x).to_vector<bool>(), std::vector<bool>({true, false, false, false, true}));
  EXPECT_EQ(ops::isfinite(tensor_of({7}, {1}, DType::int64)).to_vector<bool>(), std::vector<bool>({true}));
}

TEST(UnaryTest, WrongParameters) {
  const Tensor x = Tensor::zeros({2});
  EXPECT_THROW(ops::clip(x, 2, 1), InvalidArgumentError);
  EXPECT_THROW(ops::relu(x, {.max_value = -1.0}), InvalidArgumentError);
  EXPECT_THROW(ops::leaky_relu(x, -0.1), InvalidArgumentError);
  EXPECT_THROW(ops::relu(x, {.threshold = kNan}), InvalidArgumentError);
}

}  // namespace

}  // namespace nyala
