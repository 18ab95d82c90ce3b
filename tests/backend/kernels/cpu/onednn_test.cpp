#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/backend/kernels/cpu/onednn/onednn.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/nn/conv2d.h>
#include <nyala/backend/ops/nn/dense.h>
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

}  // namespace
}  // namespace nyala
