// What the general op tests do not see: accuracy over the whole range of float32, sizes around the cuts of
// the work, casts, and that the fast kernels run where they should.
#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/kernels/cpu/base/cpu_level.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/elementwise/activation.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/exponential.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/tests/conformance/ops/op_checks.h>
#include <nyala/tests/support/team.h>

namespace nyala {

using namespace nyala::detail;

namespace {

using namespace testing;

/// Names of the CPU levels that have kernels here.
std::vector<std::string_view> levels() {
  if (cpu_level() == CpuLevel::avx512) return {"avx512", "avx2"};
  if (cpu_level() == CpuLevel::avx2) return {"avx2"};
  return {};
}

/// Floats of every magnitude and both signs, down to subnormal ones.
std::vector<float> sweep(double largest) {
  std::vector<float> values;
  for (double x = 1e-44; x < largest; x *= 1.0003) {
    values.push_back(static_cast<float>(x));
    values.push_back(static_cast<float>(-x));
  }
  return values;
}

double units_in_last_place(float actual, double expected) {
  const float rounded = static_cast<float>(expected);
  if (actual == rounded || (std::isnan(actual) && std::isnan(rounded))) return 0;
  const float size = std::max(std::abs(rounded), std::numeric_limits<float>::min());
  const double ulp = static_cast<double>(std::nextafter(size, std::numeric_limits<float>::infinity())) -
                     static_cast<double>(size);
  return std::abs(static_cast<double>(actual) - expected) / ulp;
}

double worst_error(Tensor (*op)(const Tensor&), double (*expected)(double), double largest) {
  const std::vector<float> x = sweep(largest);
  const std::vector<float> y = op(Tensor::from(x)).to_vector<float>();
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i)
    worst = std::max(worst, units_in_last_place(y[i], expected(static_cast<double>(x[i]))));
  return worst;
}

TEST(ElementwiseKernelTest, TranscendentalsAreAccurate) {
  for (const std::string_view level : levels()) {
    SCOPED_TRACE(level);
    ScopedValue<std::string_view> only(thread_context().only_kernel, level);
    EXPECT_LE(worst_error(
                  ops::exp, [](double x) { return std::exp(x); }, 87.0),
              1.5);
    EXPECT_LE(worst_error(
                  ops::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, 87.0),
              2.5);
    EXPECT_LE(worst_error(
                  ops::tanh, [](double x) { return std::tanh(x); }, 100.0),
              2.0);
    EXPECT_LE(worst_error(
                  ops::silu, [](double x) { return x / (1 + std::exp(-x)); }, 80.0),
              3.0);
    EXPECT_EQ(worst_error(
                  ops::sqrt, [](double x) { return std::sqrt(x); }, 1e30),
              0.0);
  }
}

TEST(ElementwiseKernelTest, TheEndsOfTheRange) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> x = {kInfinity, -kInfinity, std::nanf(""), 88.7f,  88.8f, -87.4f,
                                -103.0f,   -104.5f,    3e38f,         -3e38f, 0.0f,  -0.0f};
  for (const std::string_view level : levels()) {
    SCOPED_TRACE(level);
    ScopedValue<std::string_view> only(thread_context().only_kernel, level);
    const std::vector<float> e = ops::exp(Tensor::from(x)).to_vector<float>();
    const std::vector<float> t = ops::tanh(Tensor::from(x)).to_vector<float>();
    const std::vector<float> s = ops::sigmoid(Tensor::from(x)).to_vector<float>();
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_LE(units_in_last_place(e[i], std::exp(static_cast<double>(x[i]))), 2) << x[i];
      EXPECT_LE(units_in_last_place(t[i], std::tanh(static_cast<double>(x[i]))), 2) << x[i];
      EXPECT_LE(units_in_last_place(s[i], 1 / (1 + std::exp(-static_cast<double>(x[i])))), 2) << x[i];
    }
    EXPECT_TRUE(std::signbit(t[11]));
  }
}

TEST(ElementwiseKernelTest, SizesAroundVectorsAndPieces) {
  uint64_t seed = 1;
  for (const int64_t size : {1, 7, 8, 9, 15, 16, 17, 31, 33, 32769, 65537}) {
    SCOPED_TRACE(size);
    const Tensor a = random_tensor({size}, seed++), b = random_tensor({size}, seed++, 0.5, 2);
    expect_kernels_agree([](const Tensors& x) { return ops::sigmoid(x[0]) * x[1] + ops::tanh(x[0]) / x[1]; },
                         {a, b}, {.half_values = 4, .half_gradients = 16});
    expect_kernels_agree([](const Tensors& x) { return ops::relu(x[0] * 2.0 - 1.0); }, {a},
                         {.half_values = 4, .half_gradients = 16});
    expect_kernels_agree([](const Tensors& x) { return ops::silu(ops::square(x[0])); }, {a},
                         {.relative = 1e-5, .absolute = 1e-5, .half_values = 4, .half_gradients = 16});
    expect_kernels_agree(
        [](const Tensors& x) { return ops::relu(x[0], {.negative_slope = 0.25, .max_value = 1.0}); }, {a});
    expect_kernels_agree([](const Tensors& x) { return ops::exp(x[0]) - ops::sqrt(x[1]); }, {a, b},
                         {.half_values = 4, .half_gradients = 16});
  }
}

TEST(ElementwiseKernelTest, SumsAroundPieces) {
  const std::vector<std::pair<Shape, std::vector<int>>> cases = {
      {{32767}, {}},       {{32768}, {}},        {{32769}, {}},           {{100'001}, {}},
      {{3, 40'000}, {1}},  {{5000, 3}, {1}},     {{5000, 3}, {0}},        {{40'001, 10}, {0}},
      {{40'001, 15}, {0}}, {{31, 10}, {0}},      {{32, 10}, {0}},         {{33, 1}, {0}},
      {{4000, 16}, {0}},   {{4001, 20}, {0}},    {{4001, 64}, {0}},       {{70, 1500}, {0}},
      {{3, 2049}, {0}},    {{2, 3000, 17}, {1}}, {{5, 49, 64}, {1}},      {{5, 49, 6}, {1}},
      {{2, 5000, 3}, {1}}, {{2, 3, 4}, {0, 2}},  {{4, 7, 7, 33}, {1, 2}}, {{4, 7, 7, 33}, {0, 1, 2}},
      {{6, 1}, {1}}};
  uint64_t seed = 1;
  for (const auto& [shape, axes] : cases) {
    SCOPED_TRACE(shape.to_string());
    const Tensor x = random_tensor(shape, seed++);
    expect_kernels_agree([&](const Tensors& t) { return ops::sum(t[0], axes); }, {x}, {1e-5, 1e-4});
    expect_kernels_agree([&](const Tensors& t) { return ops::mean(t[0], axes, true); }, {x}, {1e-5, 1e-6});
  }
}

TEST(ElementwiseKernelTest, ResultsDoNotDependOnTheNumberOfThreads) {
  const Tensor x = random_tensor({20'011, 10}, 1);
  const auto run = [&](int threads) {
    const TestTeam team(threads);
    Tensors out = {ops::sum(x), ops::sum(x, {0}), ops::sum(x, {1}), ops::sigmoid(x),
                   ops::add(x, ops::mean(x, {0}))};
    std::vector<std::vector<float>> values;
    for (const Tensor& tensor : out) values.push_back(tensor.to_vector<float>());
    return values;
  };
  EXPECT_EQ(run(1), run(2));
  EXPECT_EQ(run(1), run(5));
}

TEST(ElementwiseKernelTest, Casts) {
  const std::vector<DType> dtypes = {DType::float32, DType::float64, DType::int32,    DType::int64,
                                     DType::uint8,   DType::bool_,   DType::bfloat16, DType::float16};
  for (const DType from : dtypes) {
    for (const DType to : dtypes) {
      for (const Shape& shape : {Shape{}, Shape{0}, Shape{3}, Shape{7, 13}, Shape{20'000}}) {
        SCOPED_TRACE(std::string(name_of(from)) + " to " + std::string(name_of(to)) + " " +
                     shape.to_string());
        const Tensor x = random_tensor(shape, 4, 0, 200, from);
        expect_kernels_agree([&](const Tensors& t) { return ops::cast(t[0], to); }, {x}, {0, 0});
      }
    }
  }
}

TEST(ElementwiseKernelTest, Bfloat16RoundsAsTheTypeDoes) {
  std::vector<float> x = sweep(3e38);
  for (const float special :
       {std::nanf(""), std::numeric_limits<float>::infinity(), 3.4e38f, 1.00390625f, 1.01171875f})
    x.push_back(special);
  const Tensor tensor = Tensor::from(x);
  const std::vector<bfloat16> rounded = ops::cast(tensor, DType::bfloat16).to_vector<bfloat16>();
  for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(rounded[i].bits, bfloat16(x[i]).bits) << x[i];
}

TEST(ElementwiseKernelTest, AddInPlace) {
  for (const int64_t size : {1, 17, 40'000}) {
    const Tensor x = random_tensor({size}, 1), y = random_tensor({size}, 2);
    const Tensor expected = ops::add(x, y), sum = y.clone();
    const uint64_t version = sum.storage()->version();
    dispatch_into(ops::kAddInPlace, NoDescriptor{}, {&x}, sum);
    expect_close(sum, expected, {0, 0});
    EXPECT_NE(sum.storage()->version(), version);
  }
}

TEST(ElementwiseKernelTest, TheWidestKernelRunsFirst) {
  if (levels().empty()) GTEST_SKIP() << "this CPU has no AVX2";
  const std::string level(levels().front());
  const auto runs = [](const OpFunction& f, const Tensors& inputs) { return kernels_that_run(f, inputs); };
  const auto has = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const Tensor x = random_tensor({4, 32}, 1), row = random_tensor({32}, 2);
  EXPECT_TRUE(has(runs([](const Tensors& t) { return t[0] + t[1]; }, {x, row}), "add: " + level));
  const std::vector<std::string> ran = runs([](const Tensors& t) { return ops::relu(t[0]); }, {x});
  EXPECT_TRUE(has(ran, "relu: " + level) && has(ran, "relu_gradient: " + level));
  EXPECT_TRUE(has(runs([](const Tensors& t) { return ops::relu(t[0], {.threshold = 1.0}); }, {x}),
                  "relu: reference"));
  EXPECT_TRUE(has(runs([](const Tensors& t) { return ops::sum(t[0], {0}); }, {x}), "sum: " + level));
  EXPECT_TRUE(has(runs([](const Tensors& t) { return ops::exp(t[0]); }, {ops::cast(x, DType::float64)}),
                  "exp: reference"));
}

TEST(ElementwiseKernelTest, OnAnotherLogicalDevice) {
  configure_logical_devices("cpu", 2);
  const OpFunction f = [](const Tensors& t) {
    return ops::sum(ops::sigmoid(t[0]) * t[1] + ops::max(t[0], {0}), {1});
  };
  const Tensors inputs = {random_tensor({33, 20}, 1), random_tensor({20}, 2)};
  const Outcome here = run_with_gradients(f, inputs), there = run_with_gradients(f, inputs, "cpu:1");
  expect_close(there.value, here.value, {0, 0});
  for (size_t i = 0; i < inputs.size(); ++i) expect_close(there.gradients[i], here.gradients[i], {0, 0});
  EXPECT_EQ(f({inputs[0].to("cpu:1"), inputs[1].to("cpu:1")}).device(), Device("cpu:1"));
  EXPECT_THROW(ops::add(inputs[0], inputs[1].to("cpu:1")), InvalidArgumentError);
  configure_logical_devices("cpu", 1);
}

}  // namespace

}  // namespace nyala
