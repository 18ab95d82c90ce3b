#include <algorithm>

#include <gtest/gtest.h>

#include <nyala/backend/kernels/cpu/base/cpu_level.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/nn/conv2d.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/tests/conformance/ops/op_checks.h>

namespace nyala::testing {

using namespace nyala::detail;
namespace {

using ops::Activation;
using ops::Conv2DOptions;

struct Case {
  Shape x;
  int64_t rows, columns;  // of the kernel
  Conv2DOptions options;

  std::string text() const {
    return x.to_string() + " by " + std::to_string(rows) + "x" + std::to_string(columns) + " strides " +
           std::to_string(options.strides[0]) + " " + std::to_string(options.strides[1]);
  }
};

Conv2DOptions depthwise(int64_t channels, int stride_y, int stride_x, ops::Padding2D padding) {
  return {.strides = {stride_y, stride_x}, .padding = padding, .groups = static_cast<int>(channels)};
}

/// Widths around the sizes of blocks, channels around those of vectors, all the ways to lie on the edges.
std::vector<Case> cases() {
  std::vector<Case> out;
  const int64_t channels[] = {1, 8, 16, 37};
  size_t next = 0;
  for (const int64_t kernel : {3, 5})
    for (const int stride : {1, 2})
      for (const int64_t width : {1, 2, 3, 4, 5, 7, 8, 9, 10, 16, 19, 33}) {
        const int64_t c = channels[next++ % 4];
        out.push_back({{2, 6, width, c}, kernel, kernel, depthwise(c, stride, stride, "same")});
        if (width >= kernel)
          out.push_back({{2, 7, width, c}, kernel, kernel, depthwise(c, stride, stride, "valid")});
        if (width + 1 >= kernel)
          out.push_back({{1, 6, width, c}, kernel, kernel, depthwise(c, stride, stride, {0, 1, 0, 1})});
      }
  out.push_back({{1, 9, 12, 20}, 2, 3, depthwise(20, 3, 1, "same")});
  out.push_back({{1, 9, 12, 20}, 7, 5, depthwise(20, 1, 2, "same")});
  out.push_back({{2, 1, 9, 24}, 1, 3, depthwise(24, 1, 1, "same")});
  out.push_back({{2, 5, 6, 24}, 3, 3, depthwise(24, 1, 1, {3, 3, 2, 2})});
  out.push_back({{0, 5, 6, 24}, 3, 3, depthwise(24, 1, 1, "same")});
  return out;
}

Tensors inputs(const Case& c) {
  return {random_tensor(c.x, 1), random_tensor({c.rows, c.columns, 1, c.x[3]}, 2),
          random_tensor({c.x[3]}, 3)};
}

ops::Conv2DDescriptor descriptor(const Case& c, Activation activation = Activation::linear) {
  return {
      {c.options.strides[0], c.options.strides[1]}, {1, 1}, c.options.groups, c.options.padding, activation};
}

TEST(Depthwise, ForwardKernelsAgree) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.text());
    for (const Activation a : {Activation::linear, Activation::relu, Activation::relu6})
      expect_kernels_agree(
          [d = descriptor(c, a)](const Tensors& in) {
            return dispatch(ops::kConv2D, d, {&in[0], &in[1], &in[2]}).detached();
          },
          inputs(c), {1e-5, 2e-5});
    expect_kernels_agree(
        [d = descriptor(c)](const Tensors& in) {
          return dispatch(ops::kConv2D, d, {&in[0], &in[1]}).detached();
        },
        inputs(c), {1e-5, 2e-5});
  }
}

TEST(Depthwise, GradientKernelsAgree) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.text());
    const Tensors t = inputs(c);
    const Tensor dz =
        random_tensor(ops::conv2d(t[0].as_abstract(), t[1].as_abstract(), {}, c.options).shape(), 5);
    const ops::Conv2DBackwardDescriptor input{descriptor(c), {c.x[1], c.x[2]}},
        kernel{descriptor(c), {c.rows, c.columns}};
    expect_kernels_agree(
        [&](const Tensors& in) {
          return dispatch(ops::kConv2DBackwardInput, input, {&in[0], &in[1]});
        },
        {dz, t[1]}, {1e-5, 2e-5});
    expect_kernels_agree(
        [&](const Tensors& in) {
          return dispatch(ops::kConv2DBackwardKernel, kernel, {&in[0], &in[1]});
        },
        {t[0], dz}, {1e-5, 5e-4});
  }
}

TEST(Depthwise, GradientsAreThoseOfDifferences) {
  for (const Case& c : {Case{{2, 5, 4, 3}, 3, 3, depthwise(3, 2, 2, "same")},
                        Case{{1, 4, 6, 2}, 5, 5, depthwise(2, 1, 1, "same")},
                        Case{{1, 6, 6, 2}, 3, 3, depthwise(2, 2, 2, {0, 1, 0, 1})}})
    expect_gradients([&](const Tensors& t) { return ops::conv2d(t[0], t[1], t[2], c.options); }, inputs(c));
}

/// The networks' shapes run in the own loops, so that the checks above are about them.
TEST(Depthwise, OwnLoopsRun) {
  if (cpu_level() < CpuLevel::avx2) return;
  for (const int stride : {1, 2})
    for (const int64_t kernel : {3, 5}) {
      const Case c{{2, 14, 14, 96}, kernel, kernel, depthwise(96, stride, stride, "same")};
      const auto ran = kernels_that_run(
          [&](const Tensors& t) { return ops::conv2d(t[0], t[1], t[2], c.options); }, inputs(c));
      EXPECT_EQ(std::count_if(ran.begin(), ran.end(),
                              [](const std::string& k) { return k.find("narrow_depthwise") != k.npos; }),
                3)
          << c.text() << " " << ::testing::PrintToString(ran);
    }
}

/// The same bits with any number of threads.
TEST(Depthwise, ThreadsDoNotChangeBits) {
  const Case c{{5, 23, 17, 40}, 3, 3, depthwise(40, 1, 1, "same")};
  const Tensors t = inputs(c);
  const auto all = [&] {
    const Outcome outcome =
        run_with_gradients([&](const Tensors& in) { return ops::conv2d(in[0], in[1], in[2], c.options); }, t);
    std::vector<std::vector<float>> bits{outcome.value.to_vector<float>()};
    for (const Tensor& gradient : outcome.gradients) bits.push_back(gradient.to_vector<float>());
    return bits;
  };
  const int threads = thread_context().compute_threads;
  thread_context().compute_threads = 1;
  const auto one = all();
  for (const int count : {2, 3, 5}) {
    thread_context().compute_threads = count;
    EXPECT_EQ(all(), one) << count << " threads";
  }
  thread_context().compute_threads = threads;
}

}  // namespace
}  // namespace nyala::testing
