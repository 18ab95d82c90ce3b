#include <gtest/gtest.h>

#include <cmath>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/random/noise.h>
#include <nyala/tests/conformance/ops/op_checks.h>

namespace nyala::testing {
namespace {

Tensor step(int64_t number) { return Tensor::scalar(number); }

TEST(Noise, HasMeanAndDeviation) {
  const auto y =
      values_of(ops::noise_like(Tensor::zeros({300, 101}), step(3), {.mean = 2.0, .stddev = 0.5, .key = 7}));
  double mean = 0.0, squares = 0.0, fourth = 0.0;
  const double count = static_cast<double>(y.size());
  for (const double value : y) mean += value / count;
  for (const double value : y) {
    const double z = (value - 2.0) / 0.5;
    squares += z * z / count;
    fourth += z * z * z * z / count;
  }
  EXPECT_NEAR(mean, 2.0, 5 * 0.5 / std::sqrt(count));
  EXPECT_NEAR(squares, 1.0, 5 * std::sqrt(2.0 / count));
  EXPECT_NEAR(fourth, 3.0, 5 * std::sqrt(96.0 / count));
}

TEST(Noise, PartsOfABatchDrawWhatTheWholeDraws) {
  for (const int64_t columns : {1, 3, 4}) {
    const auto whole = values_of(ops::noise_like(Tensor::zeros({7, columns}), step(1), {.key = 5}));
    auto parts = values_of(ops::noise_like(Tensor::zeros({3, columns}), step(1), {.key = 5}));
    const Tensor rest = ops::noise_like(Tensor::zeros({4, columns}), step(1), {.key = 5, .first_row = 3});
    for (const double value : values_of(rest)) parts.push_back(value);
    EXPECT_EQ(parts, whole);
  }
}

TEST(Noise, KeyAndStepDecide) {
  const Tensor x = Tensor::zeros({4, 4});
  const auto one = values_of(ops::noise_like(x, step(1), {.key = 5}));
  EXPECT_EQ(values_of(ops::noise_like(x, step(1), {.key = 5})), one);
  EXPECT_NE(values_of(ops::noise_like(x, step(2), {.key = 5})), one);
  EXPECT_NE(values_of(ops::noise_like(x, step(1), {.key = 6})), one);
}

TEST(Noise, KernelsAgree) {
  for (const Shape& shape : {Shape{0, 3}, Shape{1}, Shape{}, Shape{5, 7}, Shape{70, 101}})
    expect_kernels_agree(
        [](const Tensors& t) { return ops::noise_like(t[0], t[1], {.key = 9, .first_row = 3}); },
        {Tensor::zeros(shape), step(2)}, {0.0, 0.0});
}

TEST(Noise, RefusesIntegers) {
  EXPECT_THROW(ops::noise_like(Tensor::zeros({2}, DType::int32), step(0), {}), ShapeError);
}

}  // namespace
}  // namespace nyala::testing
