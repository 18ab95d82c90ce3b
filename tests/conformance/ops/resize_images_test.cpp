#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/image/resize_images.h>
#include <nyala/tests/conformance/ops/op_checks.h>

namespace nyala::testing {
namespace {

using ops::Interpolation;

constexpr Interpolation kAll[] = {Interpolation::nearest,  Interpolation::bilinear, Interpolation::bicubic,
                                  Interpolation::lanczos3, Interpolation::lanczos5, Interpolation::area};

struct Target {
  int64_t height, width;
};
constexpr Target kTargets[] = {{3, 8}, {9, 4}, {1, 1}, {5, 7}, {13, 2}};

TEST(ResizeImages, SmallCasesByHand) {
  const Tensor x = tensor_of({1, 3, 5, 7}, {1, 2, 2, 1});
  expect_close(ops::resize_images(x, 2, 4, {Interpolation::nearest}),
               tensor_of({1, 1, 3, 3, 5, 5, 7, 7}, {1, 2, 4, 1}));
  expect_close(ops::resize_images(x, 2, 4), tensor_of({1, 1.5, 2.5, 3, 5, 5.5, 6.5, 7}, {1, 2, 4, 1}));
  expect_close(ops::resize_images(x, 1, 1, {Interpolation::area}), tensor_of({4}, {1, 1, 1, 1}));
  expect_close(ops::resize_images(x, 1, 2), tensor_of({3, 5}, {1, 1, 2, 1}));
}

TEST(ResizeImages, GradientsAreThoseOfDifferences) {
  for (const Interpolation kind : kAll)
    for (const bool antialias : {false, true})
      for (const auto& [height, width] : kTargets)
        expect_gradients(
            [&, height = height, width = width](const Tensors& t) {
              return ops::resize_images(t[0], height, width, {kind, antialias});
            },
            {random_tensor({2, 5, 4, 2}, 1)});
}

TEST(ResizeImages, KernelsAgree) {
  for (const Interpolation kind : kAll)
    for (const Shape& shape :
         {Shape{0, 5, 4, 2}, Shape{2, 5, 4, 3}, Shape{1, 30, 41, 1}, Shape{3, 17, 9, 20}})
      for (const auto& [height, width] : kTargets)
        expect_kernels_agree(
            [&, height = height, width = width](const Tensors& t) {
              return ops::resize_images(t[0], height, width, {kind, true});
            },
            {random_tensor(shape, 1)}, {2e-5, 2e-5});
}

TEST(ResizeImages, ConstantImagesStayConstant) {
  for (const Interpolation kind : kAll)
    for (const bool antialias : {false, true})
      for (const auto& [height, width] : kTargets) {
        const Tensor y =
            ops::resize_images(Tensor::full({1, 5, 4, 1}, 3.0), height, width, {kind, antialias});
        expect_close(y, Tensor::full({1, height, width, 1}, 3.0));
      }
}

TEST(ResizeImages, IntegersAreRoundedAndCut) {
  const Tensor x = Tensor::from(std::vector<uint8_t>{0, 255, 255, 0, 3, 4}, {1, 1, 6, 1});
  const Tensor y = ops::resize_images(x, 1, 12, {Interpolation::bicubic});
  EXPECT_EQ(y.dtype(), DType::uint8);
  const std::vector<double> values = values_of(y);
  EXPECT_EQ(values[0], 0.0);    // below 0 before it was cut
  EXPECT_EQ(values[4], 255.0);  // above 255
  EXPECT_EQ(values_of(ops::resize_images(x, 1, 3, {Interpolation::bilinear})),
            (std::vector<double>{128, 128, 4}));  // 127.5 and 3.5, half to even
  EXPECT_EQ(ops::resize_images(x, 1, 3, {Interpolation::nearest}).dtype(), DType::uint8);
}

TEST(ResizeImages, OneImageAndOpenSizes) {
  EXPECT_EQ(ops::resize_images(random_tensor({4, 5, 3}, 1), 2, 6).shape(), (Shape{2, 6, 3}));
  const Tensor open = Tensor::abstract({None, None, None, 3}, DType::float32);
  EXPECT_EQ(ops::resize_images(open, 2, 6).shape(), (Shape{None, 2, 6, 3}));
}

TEST(ResizeImages, RefusesWhatDoesNotFit) {
  const Tensor x = random_tensor({1, 2, 2, 1}, 1);
  EXPECT_THROW(ops::resize_images(x, 0, 2), InvalidArgumentError);
  EXPECT_THROW(ops::resize_images(random_tensor({2, 2}, 1), 2, 2), ShapeError);
  EXPECT_THROW(ops::resize_images(random_tensor({1, 0, 2, 1}, 1), 2, 2), ShapeError);
  try {
    ops::detail::interpolation_of("bilinaer");
    FAIL();
  } catch (const InvalidArgumentError& error) {
    EXPECT_NE(std::string(error.what()).find("bilinear"), std::string::npos);
  }
}

}  // namespace
}  // namespace nyala::testing
