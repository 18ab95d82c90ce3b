#include <cmath>

#include <gtest/gtest.h>

#include <nyala/api/layers/all.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/shape/transpose.h>
#include <nyala/tests/support/error_text.h>

namespace nyala {
namespace {

Tensor counted(const Shape& shape, int period) {
  std::vector<float> values(static_cast<size_t>(shape.num_elements()));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(static_cast<int>(i * 37) % period);
  return Tensor(values, shape);
}

TEST(Pooling, LengthsAreKeras) {
  const Tensor steps = Tensor::zeros({2, 9, 3}), volume = Tensor::zeros({1, 5, 6, 7, 2});
  EXPECT_EQ(MaxPooling1D()(steps).shape(), Shape({2, 4, 3}));
  EXPECT_EQ(MaxPooling1D(3, {.strides = 1})(steps).shape(), Shape({2, 7, 3}));
  EXPECT_EQ(AveragePooling1D(2, {.padding = "same"})(steps).shape(), Shape({2, 5, 3}));
  EXPECT_EQ(MaxPooling3D()(volume).shape(), Shape({1, 2, 3, 3, 2}));
  EXPECT_EQ(AveragePooling3D({1, 2, 3}, {.strides = {2, 2, 1}, .padding = "same"})(volume).shape(),
            Shape({1, 3, 3, 7, 2}));
  EXPECT_EQ(GlobalMaxPooling1D()(steps).shape(), Shape({2, 3}));
  EXPECT_EQ(GlobalAveragePooling3D({.keepdims = true})(volume).shape(), Shape({1, 1, 1, 1, 2}));
}

/// Window [first, last) along one axis of `size` elements, as Keras lays it.
struct Span {
  int64_t first, last;
};
Span span_of(int64_t window, int64_t size, int64_t pool, int64_t stride) {
  const int64_t windows = (size + stride - 1) / stride;
  const int64_t padding = std::max<int64_t>((windows - 1) * stride + pool - size, 0);
  const int64_t first = window * stride - padding / 2;
  return {std::max<int64_t>(first, 0), std::min(first + pool, size)};
}

TEST(Pooling, OfVolumesEqualsTheDefinition) {
  const Shape shape{1, 4, 5, 3, 1};
  const Tensor x = counted(shape, 101);
  const std::vector<float> values = x.to_vector<float>();
  const int64_t pool = 3, stride = 2;
  const Tensor largest = MaxPooling3D(pool, {.strides = stride, .padding = "same"})(x);
  const Tensor mean = AveragePooling3D(pool, {.strides = stride, .padding = "same"})(x);
  ASSERT_EQ(mean.shape(), Shape({1, 2, 3, 2, 1}));
  for (int64_t at = 0; at < mean.num_elements(); ++at) {
    const Span z = span_of(at / 6, 4, pool, stride), y = span_of(at / 2 % 3, 5, pool, stride),
               w = span_of(at % 2, 3, pool, stride);
    double sum = 0, best = -1, count = 0;
    for (int64_t i = z.first; i < z.last; ++i)
      for (int64_t j = y.first; j < y.last; ++j)
        for (int64_t k = w.first; k < w.last; ++k) {
          const double value = values[static_cast<size_t>((i * 5 + j) * 3 + k)];
          sum += value, count += 1, best = std::max(best, value);
        }
    EXPECT_EQ(largest.to_vector<float>()[static_cast<size_t>(at)], best);
    EXPECT_NEAR(mean.to_vector<float>()[static_cast<size_t>(at)], sum / count, 1e-4);
  }
}

TEST(Pooling, MeanOfStepsLeavesOutWhatTheMaskDoes) {
  const float nan = std::nanf("");
  const Tensor x = Tensor::from(std::vector<float>{1, 2, nan, 4, 5, 6, 7, 8, nan, 10, 11, 12}, {2, 3, 2});
  const Tensor mask = Tensor::from(std::vector<uint8_t>{1, 0, 1, 1, 0, 0}, {2, 3});
  const Tensor marked = given_mask(x, mask);
  EXPECT_EQ(GlobalAveragePooling1D()(marked).to_vector<float>(), (std::vector<float>{3, 4, 7, 8}));
  EXPECT_EQ(GlobalAveragePooling1D({.keepdims = true})(marked).shape(), Shape({2, 1, 2}));
  EXPECT_FALSE(mask_of(GlobalAveragePooling1D()(marked)).defined());
  EXPECT_FALSE(mask_of(GlobalMaxPooling1D()(marked)).defined());
  const Tensor none = given_mask(x, Tensor::zeros({2, 3}, DType::uint8));
  for (const float value : GlobalAveragePooling1D()(none).to_vector<float>()) EXPECT_TRUE(std::isnan(value));
}

TEST(Pooling, ChannelsFirstIsTheSameMovedRound) {
  const Tensor first = counted({2, 3, 6, 5}, 89), last = ops::moveaxis(first, 1, -1);
  const auto expect_same = [&](const Layer& a, const Layer& b) {
    const Tensor expected = b(last), received = a(first);
    EXPECT_EQ(received.to_vector<float>(),
              (received.rank() == 4 ? ops::moveaxis(expected, -1, 1) : expected).to_vector<float>());
  };
  expect_same(MaxPooling2D(2, {.data_format = "channels_first"}), MaxPooling2D(2));
  expect_same(AveragePooling2D(3, {.padding = "same", .data_format = "channels_first"}),
              AveragePooling2D(3, {.padding = "same"}));
  expect_same(GlobalAveragePooling2D({.data_format = "channels_first"}), GlobalAveragePooling2D());
  expect_same(GlobalMaxPooling2D({.data_format = "channels_first", .keepdims = true}),
              GlobalMaxPooling2D({.keepdims = true}));
  const Tensor steps({1, 2, 3, 4, 5, 6});
  const Tensor mask = Tensor::from(std::vector<uint8_t>{1, 0, 1}, {1, 3});
  const Layer mean = GlobalAveragePooling1D({.data_format = "channels_first"});
  EXPECT_EQ(mean(given_mask(steps.with_shape({1, 2, 3}), mask)).to_vector<float>(),
            (std::vector<float>{2, 5}));
}

TEST(Pooling, Errors) {
  using Error = InvalidArgumentError;
  expect_error<Error>([] { MaxPooling1D(0); }, {"MaxPooling1D", "pool_size > 0"});
  expect_error<Error>([] { AveragePooling3D(AveragePooling3DConfig{}); }, {"AveragePooling3D", "None"});
  expect_error<Error>([] { MaxPooling3D({2, 2, 2}, {.strides = {1, -1, 1}}); }, {"strides", "(1, -1, 1)"});
  expect_error<Error>([] { AveragePooling1D(2, {.padding = "causal"}); }, {"'causal'"});
  expect_error<Error>([] { GlobalAveragePooling3D({.data_format = "chanels_first"}); },
                      {"GlobalAveragePooling3D", "did you mean 'channels_first'"});
  expect_error<ShapeError>([] { MaxPooling1D(5)(Tensor::zeros({1, 4, 2})); }, {"(MaxPooling1D)", "no steps"});
  expect_error<ShapeError>([] { MaxPooling3D()(Tensor::zeros({1, 4, 4, 2})); }, {"rank 5"});
  expect_error<ShapeError>([] { GlobalMaxPooling1D()(Tensor::zeros({1, 4, 4, 2})); }, {"rank 3"});
}

TEST(Pooling, ShapesWithoutRowsPass) {
  EXPECT_EQ(MaxPooling1D()(Tensor::zeros({0, 4, 2})).shape(), Shape({0, 2, 2}));
  EXPECT_EQ(AveragePooling3D(2)(Tensor::zeros({0, 4, 4, 4, 2})).shape(), Shape({0, 2, 2, 2, 2}));
  EXPECT_EQ(GlobalAveragePooling1D()(Tensor::zeros({0, 4, 2})).shape(), Shape({0, 2}));
}

}  // namespace
}  // namespace nyala
