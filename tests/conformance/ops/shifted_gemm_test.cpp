#include <algorithm>

#include <gtest/gtest.h>

#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/nn/conv2d.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/tests/conformance/ops/op_checks.h>

namespace nyala::testing {

using namespace nyala::detail;
namespace {

struct Case {
  Shape x;
  Shape kernel;
  ops::Conv2DOptions options;
};

/// Small images of many channels; strides, padding without a tap that all windows have, taps that none has.
std::vector<Case> cases() {
  return {{{16, 4, 4, 256}, {3, 3, 256, 256}, {.padding = "same"}},
          {{29, 3, 3, 256}, {3, 3, 256, 260}, {.padding = "same"}},
          {{18, 7, 7, 256}, {3, 3, 256, 256}, {.strides = {2, 2}, .padding = "same"}},
          {{30, 2, 2, 256}, {2, 2, 256, 256}, {.padding = {1, 1, 1, 1}}},
          {{65, 2, 2, 257}, {3, 3, 257, 256}, {.padding = "same", .dilation = {2, 1}}},
          {{16, 5, 4, 256}, {3, 1, 256, 256}, {.padding = {2, 2, 0, 0}}}};
}

Tensors inputs(const Case& c) {
  return {random_tensor(c.x, 1, -1.0, 1.0), random_tensor(c.kernel, 2, -1.0, 1.0)};
}

TEST(ShiftedGemm, KernelsAgree) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.x.to_string() + " by " + c.kernel.to_string());
    const Tensors t = inputs(c);
    const ops::Conv2DDescriptor d{{c.options.strides[0], c.options.strides[1]},
                                  {c.options.dilation[0], c.options.dilation[1]},
                                  1,
                                  c.options.padding,
                                  {}};
    expect_kernels_agree(
        [&](const Tensors& in) {
          return dispatch(ops::kConv2D, d, {&in[0], &in[1]}).detached();
        },
        t, {1e-4, 2e-4});
    const Shape y_shape = ops::conv2d(t[0].as_abstract(), t[1].as_abstract(), {}, c.options).shape();
    const Tensor dz = random_tensor(y_shape, 5, -1.0, 1.0);
    const ops::Conv2DBackwardDescriptor kernel{d, {c.kernel[0], c.kernel[1]}};
    expect_kernels_agree(
        [&](const Tensors& in) {
          return dispatch(ops::kConv2DBackwardKernel, kernel, {&in[0], &in[1]});
        },
        {t[0], dz}, {1e-4, 2e-4});
  }
}

TEST(ShiftedGemm, WithABiasASumAndAnActivation) {
  for (const size_t i : {0, 3}) {
    const Case c = cases()[i];
    const Tensors t = inputs(c);
    const Shape y_shape = ops::conv2d(t[0].as_abstract(), t[1].as_abstract(), {}, c.options).shape();
    const Tensor bias = random_tensor({c.kernel[3]}, 7), sum = random_tensor(y_shape, 8, -9.0, 9.0);
    for (const ops::Activation a : {ops::Activation::linear, ops::Activation::relu, ops::Activation::relu6}) {
      ops::Conv2DOptions options = c.options;
      options.activation = a;
      const auto f = [&](const Tensors& in) {
        if (in.size() < 4) return ops::conv2d(in[0], in[1], in[2], options).detached();
        const Tensor y = in[3].detached().clone();
        ops::detail::conv2d_onto(y, std::array{&in[0], &in[1], &in[2]}, options);
        return y;
      };
      for (const Tensors& given : {Tensors{t[0], t[1], bias}, Tensors{t[0], t[1], bias, sum}}) {
        const Tensor own = f(given);
        thread_context().only_kernel = "reference";
        const Tensor expected = f(given);
        thread_context().only_kernel = {};
        expect_close(own, expected, {1e-4, 2e-4});
      }
    }
  }
}

TEST(ShiftedGemm, RunForTheFirstOfTheLastStageOfAResNet) {
  const auto ran = kernels_that_run(
      [](const Tensors& t) {
        return ops::conv2d(t[0], t[1], {}, {.strides = {2, 2}, .padding = "same"});
      },
      inputs(cases()[2]));
  EXPECT_EQ(std::count_if(ran.begin(), ran.end(),
                          [](const std::string& k) { return k.find("shifted_gemm") != k.npos; }),
            2)
      << ::testing::PrintToString(ran);
}

TEST(ShiftedGemm, ThreadsChangeLittle) {
  const Case c = cases()[2];
  const auto run = [&](int threads) {
    thread_context().compute_threads = threads;
    return run_with_gradients([&](const Tensors& in) { return ops::conv2d(in[0], in[1], {}, c.options); },
                              inputs(c));
  };
  const int threads = thread_context().compute_threads;
  const Outcome one = run(1);
  for (const int count : {2, 3, 40}) {
    const Outcome more = run(count);
    expect_close(more.value, one.value, {1e-5, 1e-4});
    for (size_t i = 0; i < 2; ++i) expect_close(more.gradients[i], one.gradients[i], {1e-5, 1e-4});
  }
  thread_context().compute_threads = threads;
}

}  // namespace
}  // namespace nyala::testing
