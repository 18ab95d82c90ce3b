#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/image/affine_transform.h>
#include <nyala/backend/ops/image/image_transforms.h>
#include <nyala/tests/conformance/ops/op_checks.h>

namespace nyala::testing {
namespace {

using ops::FillMode;
using ops::Interpolation;

constexpr FillMode kModes[] = {FillMode::constant, FillMode::nearest, FillMode::wrap, FillMode::reflect};
constexpr Interpolation kInterpolations[] = {Interpolation::nearest, Interpolation::bilinear};

Tensor shift(double x, double y) { return tensor_of({1, 0, x, 0, 1, y, 0, 0}, {8}); }

/// One row of four pixels.
Tensor row() { return tensor_of({1, 2, 3, 4}, {1, 1, 4, 1}); }

std::vector<double> shifted(double x, const ops::AffineOptions& options) {
  return values_of(ops::affine_transform(row(), shift(x, 0), options));
}

TEST(AffineTransform, FillModesByHand) {
  using Numbers = std::vector<double>;
  const auto with = [](FillMode mode) {
    return ops::AffineOptions{.interpolation = Interpolation::nearest, .fill_mode = mode, .fill_value = 9.0};
  };
  EXPECT_EQ(shifted(2, with(FillMode::constant)), (Numbers{3, 4, 9, 9}));
  EXPECT_EQ(shifted(-2, with(FillMode::constant)), (Numbers{9, 9, 1, 2}));
  EXPECT_EQ(shifted(2, with(FillMode::nearest)), (Numbers{3, 4, 4, 4}));
  EXPECT_EQ(shifted(2, with(FillMode::wrap)), (Numbers{3, 4, 1, 2}));
  EXPECT_EQ(shifted(-2, with(FillMode::wrap)), (Numbers{3, 4, 1, 2}));
  EXPECT_EQ(shifted(2, with(FillMode::reflect)), (Numbers{3, 4, 4, 3}));
  EXPECT_EQ(shifted(-2, with(FillMode::reflect)), (Numbers{2, 1, 1, 2}));
  EXPECT_EQ(shifted(7, with(FillMode::reflect)), (Numbers{1, 1, 2, 3}));
}

TEST(AffineTransform, BilinearBetweenPixels) {
  const std::vector<double> inside = shifted(0.25, {.fill_value = 8.0});
  EXPECT_EQ(inside, (std::vector<double>{1.25, 2.25, 3.25, 5.0}));
}

TEST(AffineTransform, GradientsAreThoseOfDifferences) {
  for (const FillMode mode : kModes)
    for (const Interpolation kind : kInterpolations) {
      const Tensor transforms = random_tensor({2, 8}, 3, -0.4, 0.6);
      expect_gradients(
          [&](const Tensors& t) {
            return ops::affine_transform(
                t[0], transforms,
                {.interpolation = kind, .fill_mode = mode, .fill_value = 0.5, .height = 4, .width = 6});
          },
          {random_tensor({2, 5, 3, 2}, 1)});
    }
}

TEST(AffineTransform, KernelsAgree) {
  for (const FillMode mode : kModes)
    for (const Interpolation kind : kInterpolations)
      for (const Shape& shape : {Shape{0, 5, 4, 2}, Shape{2, 5, 4, 3}, Shape{1, 30, 41, 1},
                                 Shape{3, 17, 9, 20}, Shape{2, 1, 1, 1}})
        for (const int64_t transforms : {int64_t{1}, shape[0]})
          expect_kernels_agree(
              [&](const Tensors& t) {
                return ops::affine_transform(
                    t[0], t[1].detached(),
                    {.interpolation = kind, .fill_mode = mode, .fill_value = -0.5, .height = 0, .width = 7});
              },
              {random_tensor(shape, 1), random_tensor({transforms, 8}, 2, -1.0, 1.0)});
}

TEST(AffineTransform, OneImageOneTransformAndIntegers) {
  const Tensor image = random_tensor({4, 5, 3}, 1);
  const Tensor y = ops::affine_transform(image, shift(1, 0), {.height = 2, .width = 3});
  EXPECT_EQ(y.shape(), (Shape{2, 3, 3}));
  EXPECT_EQ(values_of(y)[0], values_of(image)[3]);
  const Tensor bytes = Tensor::from(std::vector<uint8_t>{10, 21}, {1, 1, 2, 1});
  const Tensor between = ops::affine_transform(bytes, shift(0.5, 0), {.fill_value = 3.0});
  EXPECT_EQ(between.dtype(), DType::uint8);
  EXPECT_EQ(values_of(between), (std::vector<double>{15, 12}));  // 15.5 and 12: cut
  const Tensor open = Tensor::abstract({None, None, None, 3}, DType::float32);
  EXPECT_EQ(ops::affine_transform(open, Tensor::abstract({None, 8}, DType::float32)).shape(),
            (Shape{None, None, None, 3}));
}

TEST(AffineTransform, PlacesThatAreNone) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  for (const FillMode mode : kModes)
    for (const double bad : {inf, -inf, nan, 1e30, -1e30}) {
      const ops::AffineOptions options{.fill_mode = mode, .fill_value = 7.0};
      EXPECT_EQ(shifted(bad, options), (std::vector<double>{7, 7, 7, 7}));
    }
  const Tensor no_distance = tensor_of({1, 0, 0, 0, 1, 0, -1, 0}, {8});  // k is 0 at x = 1
  const std::vector<double> y = values_of(ops::affine_transform(row(), no_distance, {.fill_value = 7.0}));
  EXPECT_EQ(y[0], 1.0);
  EXPECT_EQ(y[1], 7.0);
}

TEST(AffineTransform, RefusesWhatDoesNotFit) {
  const Tensor x = random_tensor({2, 3, 3, 1}, 1), one = shift(0, 0);
  EXPECT_THROW(ops::affine_transform(random_tensor({3, 3}, 1), one), ShapeError);
  EXPECT_THROW(ops::affine_transform(x, random_tensor({3, 8}, 1)), ShapeError);
  EXPECT_THROW(ops::affine_transform(x, random_tensor({2, 6}, 1)), ShapeError);
  EXPECT_THROW(ops::affine_transform(x, random_tensor({1, 2, 8}, 1)), ShapeError);
  EXPECT_THROW(ops::affine_transform(random_tensor({2, 0, 3, 1}, 1), one), ShapeError);
  EXPECT_THROW(ops::affine_transform(x, one, {.interpolation = Interpolation::bicubic}),
               InvalidArgumentError);
  EXPECT_THROW(ops::affine_transform(x, one, {.height = -1}), InvalidArgumentError);
  try {
    ops::detail::fill_mode_of("reflekt");
    FAIL();
  } catch (const InvalidArgumentError& error) {
    EXPECT_NE(std::string(error.what()).find("'reflect'"), std::string::npos);
  }
}

TEST(ImageTransforms, FlipAndCrop) {
  const Tensor numbers = tensor_of({0.5, 0.51}, {2, 1});
  const auto flips = values_of(
      ops::image_transforms(numbers, {.motion = ops::ImageMotion::flip_both, .height = 4, .width = 6}));
  EXPECT_EQ(flips, (std::vector<double>{-1, 0, 5, 0, -1, 3, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0}));
  const Tensor places = tensor_of({0.0, 0.999999, 0.5, 0.5}, {2, 2});
  const auto crops = values_of(ops::image_transforms(
      places,
      {.motion = ops::ImageMotion::crop, .height = 9, .width = 8, .target_height = 4, .target_width = 5}));
  EXPECT_EQ(crops, (std::vector<double>{1, 0, 3, 0, 1, 0, 0, 0, 1, 0, 2, 0, 1, 3, 0, 0}));
}

TEST(ImageTransforms, KernelsAgreeAndRefuse) {
  for (const int64_t rows : {0, 1, 5})
    expect_kernels_agree(
        [](const Tensors& t) {
          return ops::image_transforms(t[0].detached(), {.motion = ops::ImageMotion::zoom, .height = 4});
        },
        {random_tensor({rows, 2}, 1)}, {.half = false});  // the numbers are float32
  EXPECT_THROW(ops::image_transforms(random_tensor({2, 2}, 1), {.motion = ops::ImageMotion::rotation}),
               ShapeError);
  EXPECT_THROW(ops::image_transforms(random_tensor({2, 1}, 1), {.motion = ops::ImageMotion::crop}),
               ShapeError);
  EXPECT_THROW(ops::image_transforms(random_tensor({2}, 1), {}), ShapeError);
}

}  // namespace
}  // namespace nyala::testing
