#include <gtest/gtest.h>

#include <cmath>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/nn/pooling.h>
#include <nyala/tests/conformance/ops/op_checks.h>

namespace nyala::testing {
namespace {

using ops::Pooling2DOptions;

std::vector<Pooling2DOptions> options() {
  return {{},
          {.padding = "same"},
          {.pool_size = {3, 3}, .strides = {2, 2}, .padding = "same"},
          {.pool_size = {3, 2}, .strides = {1, 1}},
          {.pool_size = {2, 2}, .strides = {3, 3}},
          {.pool_size = {3, 3}, .strides = {1, 2}, .padding = {1, 1, 2, 0}},
          {.pool_size = {1, 1}},
          {.pool_size = {4, 5}}};
}

std::vector<Shape> shapes() {
  return {{1, 4, 5, 1},   {2, 5, 6, 3},  {3, 8, 8, 16}, {2, 9, 7, 20},
          {1, 12, 12, 6}, {2, 6, 6, 50}, {0, 6, 6, 4}};
}

Tensor counted(const Shape& shape, int64_t period, double offset) {
  std::vector<double> values;
  for (int64_t i = 0; i < shape.num_elements(); ++i)
    values.push_back(static_cast<double>(i % period) + offset);
  return tensor_of(values, shape);
}

TEST(Pooling2D, EqualsKeras) {
  const Pooling2DOptions o{.pool_size = {3, 3}, .strides = {2, 2}, .padding = "same"};
  const Tensor x = counted({1, 4, 4, 1}, 7, -3);
  expect_close(ops::average_pooling2d(x, o), tensor_of({-1.0 / 3, 0.0, -1.0 / 6, -1.0}, {1, 2, 2, 1}));
  expect_close(ops::max_pooling2d(x, o), tensor_of({3, 3, 3, 1}, {1, 2, 2, 1}));
  expect_close(
      ops::average_pooling2d(counted({1, 5, 4, 2}, 7, -3),
                             {.pool_size = {2, 3}, .strides = {2, 2}, .padding = "same"}),
      tensor_of({-0.5, 0.5, 0.75, 0, 1.0 / 3, 1.0 / 6, -0.75, -1.5, 2.0 / 3, -2.0 / 3, -1, 0}, {1, 3, 2, 2}));
}

TEST(Pooling2D, GradientsAreThoseOfDifferences) {
  for (const Pooling2DOptions& o : options()) {
    expect_gradients([&](const Tensors& t) { return ops::max_pooling2d(t[0], o); },
                     {random_tensor({2, 5, 6, 2}, 1)});
    expect_gradients([&](const Tensors& t) { return ops::average_pooling2d(t[0], o); },
                     {random_tensor({1, 4, 5, 3}, 2)});
  }
}

TEST(Pooling2D, KernelsAgree) {
  for (const Shape& shape : shapes())
    for (const Pooling2DOptions& o : options()) {
      expect_kernels_agree([&](const Tensors& t) { return ops::max_pooling2d(t[0], o); },
                           {random_tensor(shape, 1)});
      expect_kernels_agree([&](const Tensors& t) { return ops::average_pooling2d(t[0], o); },
                           {random_tensor(shape, 2)});
    }
}

/// Parts of vectors of every length.
TEST(Pooling2D, KernelsAgreeOnAnyNumberOfChannels) {
  for (int64_t channels = 1; channels <= 17; ++channels)
    for (const Pooling2DOptions& o : {Pooling2DOptions{}, {.pool_size = {3, 2}, .strides = {1, 1}}}) {
      SCOPED_TRACE(channels);
      expect_kernels_agree([&](const Tensors& t) { return ops::max_pooling2d(t[0], o); },
                           {random_tensor({2, 5, 6, channels}, 1)});
      expect_kernels_agree([&](const Tensors& t) { return ops::average_pooling2d(t[0], o); },
                           {random_tensor({2, 5, 6, channels}, 2)});
    }
}

TEST(Pooling2D, KernelsGiveTheFirstOfEqualValuesTheGradient) {
  for (const Pooling2DOptions& o : options())
    expect_kernels_agree([&](const Tensors& t) { return ops::max_pooling2d(t[0], o); },
                         {counted({2, 9, 9, 20}, 3, 0)});
  const Tensor x = Tensor::zeros({1, 2, 2, 1});
  const Outcome out = run_with_gradients([](const Tensors& t) { return ops::max_pooling2d(t[0]); }, {x});
  const std::vector<double> gradient = values_of(out.gradients[0]);
  EXPECT_NE(gradient[0], 0.0);
  EXPECT_EQ(std::vector<double>(gradient.begin() + 1, gradient.end()), (std::vector<double>{0, 0, 0}));
}

TEST(Pooling2D, MaximumIsThatOfTheNumbersBesideNaNs) {
  for (const int64_t channels : {1, 3, 8, 16, 20, 33})
    for (int64_t place = 0; place < 4; ++place)
      for (const bool others_are_nan : {false, true}) {
        SCOPED_TRACE(::testing::Message() << channels << " channels, NaN at " << place);
        const int64_t at = (place / 2 * 4 + place % 2) * channels;
        Tensor x = counted({1, 4, 4, channels}, 1000, 0);
        for (int64_t i = 0; i < 2; ++i)
          for (int64_t j = 0; j < 2; ++j)
            if ((i * 4 + j) * channels == at || others_are_nan)
              x.data<float>()[(i * 4 + j) * channels] = std::numeric_limits<float>::quiet_NaN();
        expect_kernels_agree([](const Tensors& t) { return ops::max_pooling2d(t[0]); }, {x});
        const double y = values_of(ops::max_pooling2d(x))[0];
        if (others_are_nan)
          EXPECT_TRUE(std::isnan(y));
        else  // as Keras has it on every device
          EXPECT_EQ(y, values_of(x)[static_cast<size_t>((place == 3 ? 4 : 5) * channels)]);
      }
}

TEST(Pooling2D, KnowsItsShapeWithoutValues) {
  const Tensor x = Tensor::abstract({None, 7, None, 3}, DType::float32);
  EXPECT_EQ(ops::max_pooling2d(x).shape(), (Shape{None, 3, None, 3}));
  EXPECT_EQ(ops::average_pooling2d(x, {.padding = "same"}).shape(), (Shape{None, 4, None, 3}));
}

TEST(Pooling2D, RefusesWhatDoesNotFit) {
  EXPECT_THROW(ops::max_pooling2d(random_tensor({1, 1, 4, 1}, 1)), ShapeError);
  EXPECT_THROW(ops::max_pooling2d(random_tensor({4, 4, 1}, 1)), ShapeError);
  EXPECT_THROW(ops::average_pooling2d(random_tensor({1, 4, 4, 1}, 1), {.padding = {2, 2, 2, 2}}),
               InvalidArgumentError);
  EXPECT_THROW(ops::average_pooling2d(random_tensor({1, 4, 4, 1}, 1), {.pool_size = {0, 2}}),
               InvalidArgumentError);
}

}  // namespace
}  // namespace nyala::testing
