#include <gtest/gtest.h>

#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/nn/batch_normalization.h>
#include <nyala/tests/conformance/ops/op_checks.h>

namespace nyala::testing {
namespace {

// The gradient of x is written over the gradient of y where nobody else holds that. Here somebody does, or
// somebody adds to it before or after.

Tensor normalized(const Tensors& t, const Tensor& x) {
  return ops::detail::batch_normalization_train(x, t[1], t[2]).y;
}

Tensors inputs() {
  return {random_tensor({3, 4, 5, 20}, 1), random_tensor({20}, 2, 0.5, 1.5), random_tensor({20}, 3)};
}

void expect_right(const OpFunction& f) {
  expect_gradients(f, inputs(), {1e-5, 1e-5});
  expect_kernels_agree(f, inputs(),
                       {.relative = 1e-4, .absolute = 1e-4, .half = false});  // chains of roundings
}

TEST(BatchNormalizationSharing, GradientHeldByAnotherBranch) {
  expect_right([](const Tensors& t) { return normalized(t, t[0]) + t[0]; });
  expect_right([](const Tensors& t) { return t[0] + normalized(t, t[0]); });
}

TEST(BatchNormalizationSharing, ReadTwice) {
  expect_right([](const Tensors& t) {
    const Tensor y = normalized(t, t[0]);
    return y * y + y;
  });
}

TEST(BatchNormalizationSharing, ChainsOfBlocks) {
  expect_right([](const Tensors& t) {
    const Tensor x = normalized(t, t[0]) + t[0];
    return normalized(t, normalized(t, x) + x);
  });
}

TEST(BatchNormalizationSharing, WithGivenStatistics) {
  expect_right([](const Tensors& t) {
    const Tensor mean = Tensor::zeros({20}, t[0].dtype(), t[0].device()),
                 variance = Tensor::full({20}, 2.0, t[0].dtype(), t[0].device());
    const Tensor y = ops::batch_normalization_apply(t[0], {mean, variance, t[1], t[2]});
    return ops::batch_normalization_apply(y + t[0], {mean, variance, t[1], t[2]}) + y;
  });
}

}  // namespace
}  // namespace nyala::testing
