#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/backend/core/float32_precision.h>
#include <nyala/backend/kernels/cpu/base/cpu_level.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/nn/conv2d.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/tests/conformance/ops/op_checks.h>

namespace nyala::testing {

using namespace nyala::detail;
namespace {

struct Case {
  Shape x, kernel;
  ops::Padding padding = "same";
};

/// Odd sizes, all paddings, panels that are cut off, more tiles than a block has.
std::vector<Case> cases() {
  return {{{3, 7, 9, 64}, {3, 3, 64, 80}},
          {{2, 5, 4, 96}, {3, 3, 96, 64}, "valid"},
          {{2, 6, 6, 64}, {3, 3, 64, 64}, {2, 2, 2, 2}},
          {{1, 4, 5, 64}, {3, 3, 64, 112}, {0, 2, 1, 0}},
          {{2, 4, 4, 64}, {3, 3, 64, 64}, {0, 0, 2, 3}},
          {{9, 15, 13, 64}, {3, 3, 64, 64}}};
}

ops::Conv2DOptions options_of(const Case& c) { return {.padding = c.padding}; }

/// Runs `f` with that kernel of each op, or the reference where an op has none of that name.
Tensor with_kernel(const std::string& name, const std::function<Tensor()>& f) {
  thread_context().only_kernel = name;
  const Tensor result = f();
  thread_context().only_kernel = {};
  return result;
}

/// By precision: "highest" computes F(2x2, 3x3), "high" F(4x4, 3x3).
class Winograd : public ::testing::TestWithParam<Float32Precision> {
 protected:
  void SetUp() override {
    if (cpu_level() < CpuLevel::avx2) GTEST_SKIP() << "no kernel for this CPU";
    set_float32_precision(GetParam());
  }
  void TearDown() override { set_float32_precision(Float32Precision::highest); }

  static bool is_highest() { return GetParam() == Float32Precision::highest; }
  static std::string winograd() {
    const std::string name = is_highest() ? "winograd" : "winograd4";
    return name + (cpu_level() >= CpuLevel::avx512 ? "_avx512" : "_avx2");
  }
};

INSTANTIATE_TEST_SUITE_P(Precisions, Winograd,
                         ::testing::Values(Float32Precision::highest, Float32Precision::high),
                         [](const auto& info) {
                           return info.param == Float32Precision::highest ? "highest" : "high";
                         });

TEST_P(Winograd, KernelsAgree) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.x.to_string() + " by " + c.kernel.to_string());
    expect_kernels_agree([&](const Tensors& in) { return ops::conv2d(in[0], in[1], {}, options_of(c)); },
                         {random_tensor(c.x, 1, -1.0, 1.0), random_tensor(c.kernel, 2, -1.0, 1.0)},
                         {1e-4, 2e-4});
  }
}

TEST_P(Winograd, WithABiasASumAndAnActivation) {
  const Case c = cases()[0];
  const Tensor x = random_tensor(c.x, 1, -1.0, 1.0), kernel = random_tensor(c.kernel, 2, -1.0, 1.0),
               bias = random_tensor({c.kernel[3]}, 7),
               sum = random_tensor({c.x[0], c.x[1], c.x[2], c.kernel[3]}, 8, -9.0, 9.0);
  for (const ops::Activation a : {ops::Activation::linear, ops::Activation::relu, ops::Activation::relu6}) {
    ops::Conv2DOptions options = options_of(c);
    options.activation = a;
    const auto plain = [&] { return ops::conv2d(x, kernel, bias, options); };
    const auto onto = [&] {
      const Tensor y = sum.clone();
      ops::detail::conv2d_onto(y, std::array{&x, &kernel, &bias}, options);
      return y;
    };
    expect_close(with_kernel(winograd(), plain), with_kernel("reference", plain), {1e-4, 2e-4});
    expect_close(with_kernel(winograd(), onto), with_kernel("reference", onto), {1e-4, 2e-4});
  }
}

double largest_error(const Tensor& result, const Tensor& exact) {
  const std::vector<double> values = values_of(result), expected = values_of(exact);
  double error = 0.0;
  for (size_t i = 0; i < values.size(); ++i) error = std::max(error, std::abs(values[i] - expected[i]));
  return error;
}

/// On the layers of ResNet-18, 20 and 50 and of VGG, one image each, against float64.
TEST_P(Winograd, ErrorsAreAtMostFourTimesADirectKernelsOrTwentyTimesUnderHigh) {
  const double most = is_highest() ? 4.0 : 20.0;
  struct Layer {
    int64_t size, channels, filters;
  };
  const std::vector<Layer> layers = {{8, 64, 64},    {56, 64, 64},  {28, 128, 128},
                                     {14, 256, 256}, {7, 512, 512}, {28, 256, 512}};
  for (const auto& [size, channels, filters] : layers) {
    SCOPED_TRACE(std::to_string(channels) + " to " + std::to_string(filters) + " at " + std::to_string(size));
    const Shape kernel_shape{3, 3, channels, filters}, y_shape{1, size, size, filters};
    const Tensor x = random_tensor({1, size, size, channels}, 1, 0.0, 1.0),
                 kernel = random_tensor(kernel_shape, 2, -0.1, 0.1),
                 dz = random_tensor(y_shape, 3, -1.0, 1.0);
    const Tensor x64 = x.astype("float64"), kernel64 = kernel.astype("float64"), dz64 = dz.astype("float64");
    const ops::Conv2DDescriptor d{.padding = "same"};
    const ops::Conv2DBackwardDescriptor of_input{d, {size, size}}, of_kernel{d, {3, 3}};
    using Pass = std::function<Tensor(const Tensor&, const Tensor&, const Tensor&)>;
    const Pass passes[] = {[&](const Tensor& a, const Tensor& k, const Tensor&) {
                             return dispatch(ops::kConv2D, d, {&a, &k});
                           },
                           [&](const Tensor&, const Tensor& k, const Tensor& g) {
                             return dispatch(ops::kConv2DBackwardInput, of_input, {&g, &k});
                           },
                           [&](const Tensor& a, const Tensor&, const Tensor& g) {
                             return dispatch(ops::kConv2DBackwardKernel, of_kernel, {&a, &g});
                           }};
    for (size_t i = 0; i < std::size(passes); ++i) {
      const Tensor exact = with_kernel("reference", [&] { return passes[i](x64, kernel64, dz64); });
      const double direct =
          largest_error(with_kernel("onednn", [&] { return passes[i](x, kernel, dz); }), exact);
      const double own =
          largest_error(with_kernel(winograd(), [&] { return passes[i](x, kernel, dz); }), exact);
      EXPECT_LE(own, most * direct) << "pass " << i;
      EXPECT_GT(own, 0.0);
    }
  }
}

TEST_P(Winograd, RunsByTheLayersShapeAlone) {
  const auto count = [](const Shape& x, const Shape& kernel, const ops::Conv2DOptions& options) {
    const auto ran = kernels_that_run([&](const Tensors& t) { return ops::conv2d(t[0], t[1], {}, options); },
                                      {random_tensor(x, 1), random_tensor(kernel, 2)});
    return std::ranges::count_if(ran, [](const std::string& k) { return k.find(winograd()) != k.npos; });
  };
  for (const int64_t rows : {1, 2, 9}) {
    EXPECT_EQ(count({rows, 8, 8, 64}, {3, 3, 64, 64}, {.padding = "same"}), 3) << rows;
    EXPECT_EQ(count({rows, 8, 8, 64}, {3, 3, 64, 64}, {.strides = {2, 2}}), 0) << rows;
    EXPECT_EQ(count({rows, 8, 8, 64}, {3, 3, 64, 64}, {.dilation = {2, 2}}), 0) << rows;
    EXPECT_EQ(count({rows, 8, 8, 64}, {3, 3, 32, 64}, {.groups = 2}), 0) << rows;
    EXPECT_EQ(count({rows, 8, 8, 32}, {3, 3, 32, 32}, {.padding = "same"}), is_highest() ? 1 : 3)
        << rows;  // by the kernel alone
    EXPECT_EQ(count({rows, 8, 8, 16}, {3, 3, 16, 16}, {}), 0) << rows;
  }
}

TEST_P(Winograd, ThreadsChangeNoBit) {
  const Case c = cases()[5];
  const auto run = [&](int threads) {
    thread_context().compute_threads = threads;
    return run_with_gradients([&](const Tensors& in) { return ops::conv2d(in[0], in[1], {}, options_of(c)); },
                              {random_tensor(c.x, 1, -1.0, 1.0), random_tensor(c.kernel, 2, -1.0, 1.0)});
  };
  const int threads = thread_context().compute_threads;
  const Outcome one = run(1);
  for (const int count : {2, 3, 7}) {
    const Outcome more = run(count);
    EXPECT_EQ(values_of(more.value), values_of(one.value));
    for (size_t i = 0; i < 2; ++i) EXPECT_EQ(values_of(more.gradients[i]), values_of(one.gradients[i]));
  }
  thread_context().compute_threads = threads;
}

/// What is kept of a kernel is renewed with it: after an assignment in place, too.
TEST_P(Winograd, AKernelThatChangesIsTransformedAgain) {
  const Tensor x = random_tensor({1, 8, 8, 64}, 1), kernel = random_tensor({3, 3, 64, 64}, 2);
  const auto run = [&] { return ops::conv2d(x, kernel, {}, {.padding = "same"}); };
  for (int i = 0; i < 3; ++i) with_kernel(winograd(), run);
  kernel.copy_from(random_tensor({3, 3, 64, 64}, 3));
  for (int i = 0; i < 3; ++i)
    expect_close(with_kernel(winograd(), run), with_kernel("reference", run), {1e-4, 1e-3});
}

/// A row that is not finite spoils its own results alone.
TEST_P(Winograd, ImagesDoNotMix) {
  Tensor x = random_tensor({3, 8, 8, 64}, 1);
  std::vector<float> values = x.to_vector<float>();
  std::fill(values.begin() + 8 * 8 * 64, values.begin() + 2 * 8 * 8 * 64, NAN);
  const Tensor spoilt = Tensor::from(values, x.shape()), kernel = random_tensor({3, 3, 64, 64}, 2);
  const auto run = [&](const Tensor& in) {
    return values_of(
        with_kernel(winograd(), [&] { return ops::conv2d(in, kernel, {}, {.padding = "same"}); }));
  };
  const std::vector<double> clean = run(x), with_nan = run(spoilt);
  const size_t image = clean.size() / 3;
  for (size_t i = 0; i < clean.size(); ++i)
    if (i / image == 1)
      EXPECT_TRUE(std::isnan(with_nan[i]));
    else
      EXPECT_EQ(with_nan[i], clean[i]);
}

}  // namespace
}  // namespace nyala::testing
