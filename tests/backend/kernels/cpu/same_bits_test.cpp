#include <functional>
#include <vector>

#include <gtest/gtest.h>
#include <omp.h>

#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/nn/batch_normalization.h>
#include <nyala/backend/ops/nn/conv2d.h>
#include <nyala/backend/ops/nn/matmul.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/tests/support/team.h>

namespace nyala {
namespace {

Tensor numbers(const Shape& shape) {
  std::vector<float> values(static_cast<size_t>(shape.num_elements()));
  uint32_t state = 7;
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(state >> 8) / 16777216.0f - 0.5f;
  }
  return Tensor::from(values, shape);
}

/// Work is cut by shape alone, so the size of the team changes no bit.
void expect_same_bits(const std::function<Tensor()>& op) {
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 2, 3}) {
    const TestTeam team(threads);
    results.push_back(op().to_vector<float>());
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST(SameBits, SumsOverRows) {
  const Tensor x = numbers({64, 20, 20, 20}), dy = numbers({64, 20, 20, 20}), statistics = numbers({41});
  expect_same_bits([&] { return dispatch(ops::kBiasGradient, NoDescriptor{}, {&x}); });
  expect_same_bits([&] { return ops::batch_moments(x); });
  const ops::BatchNormalizationDescriptor d{.epsilon = 1.0};
  expect_same_bits([&] { return dispatch(ops::kBatchNormalizationSums, d, {&dy, &x, &statistics}); });
}

TEST(SameBits, OwnConvolutions) {
  const Tensor x = numbers({37, 13, 13, 20}), kernel = numbers({5, 5, 20, 50}), dz = numbers({37, 9, 9, 50});
  const ops::Conv2DBackwardDescriptor input{{}, {13, 13}}, weights{{}, {5, 5}};
  expect_same_bits([&] { return dispatch(ops::kConv2DBackwardInput, input, {&dz, &kernel}); });
  expect_same_bits([&] { return dispatch(ops::kConv2DBackwardKernel, weights, {&x, &dz}); });
}

TEST(SameBits, DepthwiseConvolutions) {
  const Tensor x = numbers({7, 13, 13, 40}), dz = numbers({7, 9, 9, 40});
  const ops::Conv2DBackwardDescriptor weights{{.groups = 40}, {5, 5}};
  expect_same_bits([&] { return dispatch(ops::kConv2DBackwardKernel, weights, {&x, &dz}); });
}

// One thread computes these, whatever the team. Larger products are cut by oneDNN, for its number of threads.
TEST(SameBits, SmallProductsOfOneDnn) {
  const Tensor a = numbers({64, 90}), b = numbers({90, 80});
  expect_same_bits([&] { return ops::matmul(a, b); });
  const Tensor x = numbers({1, 9, 9, 8}), kernel = numbers({3, 3, 8, 16});
  expect_same_bits([&] { return ops::conv2d(x, kernel); });
}

TEST(SameBits, ASmallProductLeavesTheTeamOfTheUsersOwnLoops) {
  const TestTeam team(2);
  omp_set_num_threads(3);
  ops::matmul(numbers({64, 90}), numbers({90, 80}));
  EXPECT_EQ(omp_get_max_threads(), 3);
}

}  // namespace
}  // namespace nyala
