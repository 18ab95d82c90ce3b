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
  int64_t filters;
  ops::Conv2DOptions options;
};

/// Kernels of one pixel, of sizes that products of matrices take over, and neighbours that they refuse.
std::vector<Case> cases() {
  return {{{2, 5, 7, 64}, 128, {}},
          {{2, 6, 7, 96}, 130, {.strides = {2, 2}}},
          {{2, 6, 7, 96}, 130, {.strides = {3, 2}, .padding = "same"}},
          {{1, 1, 1, 64}, 128, {}},
          {{3, 4, 4, 65}, 129, {.padding = "same"}},
          {{1, 3, 5, 512}, 1024, {}},
          {{1, 5, 4, 512}, 1025, {.strides = {2, 2}, .padding = "same"}},
          {{1, 4, 4, 768}, 700, {.strides = {1, 2}}},
          {{1, 4, 4, 64}, 128, {.padding = {1, 0, 0, 1}}},
          {{0, 4, 4, 64}, 128, {}}};
}

Tensors inputs(const Case& c) {
  return {random_tensor(c.x, 1, -1.0, 1.0), random_tensor({1, 1, c.x[3], c.filters}, 2, -1.0, 1.0)};
}

TEST(Pointwise, GradientKernelsAgree) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.x.to_string() + " to " + std::to_string(c.filters));
    const Tensors t = inputs(c);
    const Tensor dz = random_tensor(
        ops::conv2d(t[0].as_abstract(), t[1].as_abstract(), {}, c.options).shape(), 5, -1.0, 1.0);
    const ops::Conv2DDescriptor d{
        {c.options.strides[0], c.options.strides[1]}, {1, 1}, 1, c.options.padding, {}};
    const ops::Conv2DBackwardDescriptor input{d, {c.x[1], c.x[2]}}, kernel{d, {1, 1}};
    expect_kernels_agree(
        [&](const Tensors& in) {
          return dispatch(ops::kConv2DBackwardInput, input, {&in[0], &in[1]});
        },
        {dz, t[1]}, {1e-4, 1e-4});
    expect_kernels_agree(
        [&](const Tensors& in) {
          return dispatch(ops::kConv2DBackwardKernel, kernel, {&in[0], &in[1]});
        },
        {t[0], dz}, {1e-4, 1e-4});
  }
}

TEST(Pointwise, ProductsTakeLargeKernels) {
  for (const int stride : {1, 2}) {
    const ops::Conv2DOptions options{.strides = {stride, stride}};
    const auto ran =
        kernels_that_run([&](const Tensors& t) { return ops::conv2d(t[0], t[1], {}, options); },
                         {random_tensor({2, 4, 4, 512}, 1), random_tensor({1, 1, 512, 1024}, 2)});
    EXPECT_EQ(std::count_if(ran.begin(), ran.end(),
                            [](const std::string& k) { return k.find("onednn_product") != k.npos; }),
              2)
        << ::testing::PrintToString(ran);
  }
}

/// Parts for threads are parts of the result: what each element is made of stays the same.
TEST(Pointwise, ThreadsChangeLittle) {
  const Tensors t = inputs({{2, 7, 9, 512}, 1040, {}});
  const auto run = [&](int threads) {
    thread_context().compute_threads = threads;
    return run_with_gradients([](const Tensors& in) { return ops::conv2d(in[0], in[1]); }, t);
  };
  const int threads = thread_context().compute_threads;
  const Outcome one = run(1);
  for (const int count : {2, 3, 8}) {
    const Outcome more = run(count);
    for (size_t i = 0; i < 2; ++i) expect_close(more.gradients[i], one.gradients[i], {1e-5, 1e-4});
  }
  thread_context().compute_threads = threads;
}

}  // namespace
}  // namespace nyala::testing
