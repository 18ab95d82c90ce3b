#include <algorithm>
#include <atomic>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/backend/kernels/cpu/onednn/onednn.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/nn/conv2d.h>
#include <nyala/backend/ops/nn/dense.h>
#include <nyala/backend/ops/nn/matmul.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/backend/runtime/device_registry.h>

namespace nyala {

using namespace nyala::detail;
namespace {

Tensor counted(const Shape& shape, float step) {
  std::vector<float> values(static_cast<size_t>(shape.num_elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 13) * step - 0.5f;
  return Tensor::from(values, shape);
}

/// A convolution and a product that oneDNN takes, forward and back.
void work(const Tensor& x, const Tensor& kernel, const Tensor& rows, const Tensor& matrix) {
  const Tensor y = ops::conv2d(x, kernel, {}, {.padding = "same"});
  const ops::Conv2DDescriptor d{.padding = "same"};
  const ops::Conv2DBackwardDescriptor input{d, {8, 8}}, weights{d, {3, 3}};
  dispatch(ops::kConv2DBackwardInput, input, {&y, &kernel});
  dispatch(ops::kConv2DBackwardKernel, weights, {&x, &y});
  ops::dense(rows, matrix);
}

class OneDnn : public ::testing::Test {
 protected:
  ScopedValue<std::string_view> only_{thread_context().only_kernel, "onednn"};
  Tensor x_ = counted({2, 8, 8, 16}, 0.1f), kernel_ = counted({3, 3, 16, 16}, 0.05f);
  Tensor rows_ = counted({4, 16}, 0.1f), matrix_ = counted({16, 8}, 0.1f);
};

TEST_F(OneDnn, CreatesPrimitivesOncePerProblem) {
  work(x_, kernel_, rows_, matrix_);
  const uint64_t created = onednn::primitives_created();
  EXPECT_GT(created, 0u);
  for (int i = 0; i < 5; ++i) work(x_, kernel_, rows_, matrix_);
  EXPECT_EQ(onednn::primitives_created(), created);
  ops::dense(counted({5, 16}, 0.1f), matrix_);
  EXPECT_GT(onednn::primitives_created(), created);
}

TEST_F(OneDnn, WarmCallsReuseTheirMemory) {
  for (int i = 0; i < 2; ++i) ops::conv2d(x_, kernel_);
  const uint64_t before = allocator_stats(Device{}).system_allocations;
  for (int i = 0; i < 5; ++i) ops::conv2d(x_, kernel_);
  EXPECT_EQ(allocator_stats(Device{}).system_allocations, before);
}

TEST_F(OneDnn, RunsFromSeveralThreadsAtOnce) {
  const std::vector<float> expected = ops::conv2d(x_, kernel_).to_vector<float>();
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      thread_context().compute_threads = 1;
      thread_context().only_kernel = "onednn";
      for (int i = 0; i < 200; ++i)
        if (ops::conv2d(x_, kernel_).to_vector<float>() != expected) ++wrong;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(OneDnn, PacksChangedWeightsAnew) {
  for (int i = 0; i < 40; ++i) {  // more than the copies that are kept
    const Tensor kernel = counted({3, 3, 16, 16}, 0.01f * static_cast<float>(i + 1));
    const std::vector<float> y = ops::conv2d(x_, kernel).to_vector<float>();
    kernel_.copy_from(kernel);
    EXPECT_EQ(ops::conv2d(x_, kernel_).to_vector<float>(), y) << i;
  }
}

/// A product of float32 whose right side is packed like weights, which bfloat16 always does.
TEST_F(OneDnn, PacksTheFactorOnTheRight) {
  const Tensor a = counted({40, 48}, 0.1f), bias = counted({32}, 0.3f);
  for (const bool transposed : {false, true}) {
    const Tensor b = counted(transposed ? Shape{32, 48} : Shape{48, 32}, 0.07f);
    onednn::MatmulProblem plain{
        .rows = 40, .inner = 48, .columns = 32, .transpose_b = transposed, .bias = true};
    plain.activation = ops::Activation::relu;
    onednn::MatmulProblem packing = plain;
    packing.packs_b = true;
    const auto run = [&](const onednn::MatmulProblem& problem) {
      const Tensor y = Tensor::zeros({40, 32}),
                   space = Tensor::empty({static_cast<int64_t>(onednn::workspace(problem))}, DType::uint8);
      onednn::run(problem, {{&a, &b, &bias}, y, space});
      return y.to_vector<float>();
    };
    for (int call = 0; call < 3; ++call) {  // packed at first in the workspace, then kept
      const std::vector<float> expected = run(plain), actual = run(packing);
      for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(actual[i], expected[i], 1e-4) << i;
    }
    b.copy_from(counted(b.shape(), 0.02f));
    EXPECT_NEAR(run(packing)[7], run(plain)[7], 1e-4);
  }
}

onednn::Dtypes all_of(DType dtype) { return {dtype, dtype, dtype, dtype}; }

TEST(OneDnnDtypes, WhatIsTaken) {
  const std::string slow = "bfloat16 needs AVX512_BF16 or AMX";
  onednn::MatmulProblem product{.rows = 64, .inner = 64, .columns = 64, .dtypes = all_of(DType::bfloat16)};
  const auto reason = [&] {
    const char* const text = onednn::unsupported_reason(product);
    return std::string(text ? text : "");
  };
  EXPECT_EQ(reason(), onednn::has_fast_bfloat16() ? "" : slow);
  product.dtypes.weights = DType::float32;  // only packed weights are converted
  product.packs_b = true;
  EXPECT_EQ(reason(), onednn::has_fast_bfloat16() ? "" : slow);
  product.dtypes = all_of(DType::float16);
  EXPECT_EQ(reason(), "float32 and bfloat16 only");
  product.dtypes = {};
  product.dtypes.weights = DType::bfloat16;
  EXPECT_EQ(reason(), "bfloat16 beside float32 values");
  onednn::ConvolutionProblem convolution{.pass = onednn::ConvolutionPass::backward_kernel};
  convolution.dtypes = {DType::bfloat16, DType::float32, DType::float32};
  EXPECT_STREQ(onednn::unsupported_reason(convolution), "x and the gradient differ in dtype");
}

/// What oneDNN computes wrongly, or by 16 channels for each, is left to other kernels.
TEST(OneDnnDtypes, WhatIsLeftToOthersInBfloat16) {
  const auto reason = [](const Shape& x, const Shape& kernel, const ops::Conv2DDescriptor& d,
                         onednn::ConvolutionPass pass) {
    onednn::ConvolutionProblem problem{.pass = pass,
                                       .geometry = ops::detail::convolution_geometry(d, x, kernel)};
    problem.dtypes = all_of(DType::bfloat16);
    if (pass == onednn::ConvolutionPass::backward_kernel) problem.dtypes.output = DType::float32;
    const char* const text = onednn::unsupported_reason(problem);
    return std::string(text ? text : "");
  };
  const std::string wrong = "oneDNN's gradient of such a kernel is wrong in bfloat16";
  const ops::Conv2DDescriptor strided{.strides = {2, 2}, .padding = "same"};
  using enum onednn::ConvolutionPass;
  EXPECT_EQ(reason({2, 6, 1, 20}, {3, 3, 20, 4}, strided, backward_kernel), wrong);
  EXPECT_EQ(reason({2, 17, 17, 1}, {5, 5, 1, 64}, strided, backward_kernel), wrong);
  EXPECT_NE(reason({2, 17, 17, 1}, {5, 5, 1, 64}, {}, backward_kernel), wrong);
  EXPECT_NE(reason({2, 17, 17, 8}, {5, 5, 8, 64}, strided, backward_kernel), wrong);
  EXPECT_NE(reason({2, 6, 1, 20}, {3, 3, 20, 4}, strided, forward), wrong);
  if (!onednn::has_fast_bfloat16()) return;
  const ops::Conv2DDescriptor depthwise{.dilation = {2, 2}, .groups = 24, .padding = "same"};
  EXPECT_EQ(reason({2, 9, 10, 24}, {3, 3, 1, 24}, depthwise, backward_input),
            "oneDNN fills up each channel to a block of them");
  EXPECT_EQ(reason({2, 17, 17, 8}, {5, 5, 8, 64}, strided, backward_kernel), "");
}

/// In bfloat16 by oneDNN itself, where this CPU has the instructions: against float32 on the same numbers.
TEST(OneDnnDtypes, ProductsOfBfloat16) {
  if (!onednn::has_fast_bfloat16()) GTEST_SKIP() << "bfloat16 needs AVX512_BF16 or AMX";
  const ScopedValue<std::string_view> only(thread_context().only_kernel, "onednn");
  const Tensor x = ops::cast(counted({2, 9, 9, 32}, 0.1f), DType::bfloat16),
               rows = ops::cast(counted({70, 64}, 0.1f), DType::bfloat16),
               kernel = ops::cast(ops::cast(counted({3, 3, 32, 48}, 0.05f), DType::bfloat16), DType::float32),
               matrix = ops::cast(ops::cast(counted({64, 40}, 0.05f), DType::bfloat16), DType::float32),
               bias = counted({48}, 0.5f);
  const auto expect_near = [](const Tensor& actual, const Tensor& expected, DType dtype) {
    EXPECT_EQ(actual.dtype(), dtype);
    const std::vector<float> a = ops::cast(actual, DType::float32).to_vector<float>(),
                             b = ops::cast(expected, DType::float32).to_vector<float>();
    float largest = 0.0f;
    for (const float value : b) largest = std::max(largest, std::abs(value));
    for (size_t i = 0; i < b.size(); ++i) ASSERT_NEAR(a[i], b[i], 0x1p-8f * std::abs(b[i]) + 1e-4f * largest);
  };
  const Tensor wide_x = ops::cast(x, DType::float32), wide_rows = ops::cast(rows, DType::float32);
  for (const DType weights : {DType::float32, DType::bfloat16}) {
    const Tensor k = ops::cast(kernel, weights), m = ops::cast(matrix, weights), b = ops::cast(bias, weights);
    expect_near(ops::conv2d(x, k, b), ops::conv2d(wide_x, kernel, bias), DType::bfloat16);
    expect_near(ops::dense(rows, m), ops::dense(wide_rows, matrix), DType::bfloat16);
  }
  const Tensor y = ops::conv2d(x, kernel), wide_y = ops::cast(y, DType::float32);
  const ops::Conv2DBackwardDescriptor input{{}, {9, 9}}, gradient{{}, {3, 3}};
  expect_near(dispatch(ops::kConv2DBackwardInput, input, {&y, &kernel}),
              dispatch(ops::kConv2DBackwardInput, input, {&wide_y, &kernel}), DType::bfloat16);
  expect_near(dispatch(ops::kConv2DBackwardKernel, gradient, {&x, &y}),
              dispatch(ops::kConv2DBackwardKernel, gradient, {&wide_x, &wide_y}), DType::float32);
  const Tensor z = ops::dense(rows, matrix), wide_z = ops::cast(z, DType::float32);
  expect_near(dispatch(ops::kDenseBackwardInput, NoDescriptor{}, {&z, &matrix}),
              dispatch(ops::kDenseBackwardInput, NoDescriptor{}, {&wide_z, &matrix}), DType::bfloat16);
  expect_near(dispatch(ops::kDenseBackwardKernel, NoDescriptor{}, {&rows, &z}),
              dispatch(ops::kDenseBackwardKernel, NoDescriptor{}, {&wide_rows, &wide_z}), DType::float32);
  expect_near(ops::matmul(rows, rows, {false, true}), ops::matmul(wide_rows, wide_rows, {false, true}),
              DType::bfloat16);
}

/// Without the instructions, and in float16, products are those of float32, rounded.
TEST(OneDnnDtypes, ElseTheyAreThoseOfFloat32Rounded) {
  std::vector<DType> dtypes{DType::float16};
  if (!onednn::has_fast_bfloat16()) dtypes.push_back(DType::bfloat16);
  for (const DType dtype : dtypes) {
    const Tensor rows = ops::cast(counted({70, 64}, 0.1f), dtype), matrix = counted({64, 40}, 0.05f);
    const Tensor expected = ops::cast(ops::dense(ops::cast(rows, DType::float32), matrix), dtype);
    const Tensor actual = ops::dense(rows, matrix);
    EXPECT_EQ(actual.dtype(), dtype);
    EXPECT_EQ(ops::cast(actual, DType::float32).to_vector<float>(),
              ops::cast(expected, DType::float32).to_vector<float>());
  }
}

}  // namespace
}  // namespace nyala
