#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/image/resize_images.h>
#include <nyala/tests/conformance/ops/op_checks.h>

namespace nyala::testing {
namespace {

TEST(ResizeProportions, CropsTheMiddle) {
  const Tensor x = tensor_of({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 2, 5, 1});
  expect_close(ops::crop_to_proportions(x, 1, 1), tensor_of({1, 2, 6, 7}, {1, 2, 2, 1}));
  expect_close(ops::resize_images(x, 2, 2, {.crop_to_aspect_ratio = true}),
               tensor_of({1, 2, 6, 7}, {1, 2, 2, 1}));
  EXPECT_EQ(ops::crop_to_proportions(x, 1000, 1).shape(), (Shape{1, 2, 1, 1})) << "at least one pixel";
}

TEST(ResizeProportions, PadsBothSidesAlike) {
  const Tensor x = tensor_of({1, 2, 3, 4}, {1, 4, 1});  // one row
  const Tensor padded = ops::pad_to_proportions(x, 1, 1, 9.0);
  EXPECT_EQ(padded.shape(), (Shape{3, 4, 1})) << "three rows are missing: one on each side";
  expect_close(padded, tensor_of({9, 9, 9, 9, 1, 2, 3, 4, 9, 9, 9, 9}, {3, 4, 1}));
  EXPECT_EQ(ops::resize_images(x, 5, 5, {.pad_to_aspect_ratio = true}).shape(), (Shape{5, 5, 1}));
}

TEST(ResizeProportions, GradientsAreThoseOfDifferences) {
  for (const bool crop : {false, true})
    expect_gradients(
        [&](const Tensors& t) {
          return ops::resize_images(t[0], 4, 2, {.crop_to_aspect_ratio = crop, .pad_to_aspect_ratio = !crop});
        },
        {random_tensor({2, 3, 7, 2}, 1)});
}

TEST(ResizeProportions, WrongArgumentsAreErrors) {
  const Tensor x = Tensor::zeros({1, 2, 3, 1});
  EXPECT_THROW(ops::resize_images(x, 2, 2, {.crop_to_aspect_ratio = true, .pad_to_aspect_ratio = true}),
               InvalidArgumentError);
  EXPECT_THROW(ops::crop_to_proportions(Tensor::zeros({0, 3, 1}), 1, 1), ShapeError);
  EXPECT_THROW(ops::crop_to_proportions(Tensor::zeros({2, 3, 1}), 0, 1), InvalidArgumentError);
  EXPECT_THROW(ops::pad_to_proportions(Tensor::zeros({2, 3, 1}), 1, -1, 0.0), InvalidArgumentError);
  EXPECT_THROW(ops::pad_to_proportions(Tensor::zeros({3, 1}), 1, 1, 0), ShapeError);
}

}  // namespace
}  // namespace nyala::testing
