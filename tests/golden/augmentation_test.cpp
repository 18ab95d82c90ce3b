#include <string>

#include <gtest/gtest.h>

#include <nyala/api/layers/preprocessing/random_crop.h>
#include <nyala/backend/ops/image/affine_transform.h>
#include <nyala/backend/ops/image/image_transforms.h>
#include <nyala/tests/golden/golden_data.h>

namespace nyala::golden {
namespace {

using ops::ImageMotion;

const Tolerance kPixels = {.absolute = 2e-5, .relative = 2e-5};

ops::AffineOptions options_of(const Json& entry) {
  return {.interpolation = ops::detail::interpolation_of(entry.at("interpolation").get<std::string>()),
          .fill_mode = ops::detail::fill_mode_of(entry.at("fill_mode").get<std::string>()),
          .fill_value = entry.value("fill_value", -1.5)};
}

std::string name_of_case(const Json& entry) {
  return entry.value("motion", std::string("transform")) + " " + entry.at("fill_mode").get<std::string>() +
         " " + entry.at("interpolation").get<std::string>();
}

Tensor moved(const Json& entry, ImageMotion motion, const ops::AffineOptions& options) {
  const Tensor x = tensor(entry.at("x"));
  const Tensor transforms = ops::image_transforms(
      tensor(entry.at("numbers")), {.motion = motion, .height = x.shape()[1], .width = x.shape()[2]});
  return ops::affine_transform(x, transforms, options);
}

TEST(GoldenAugmentation, Motions) {
  const Json golden = load("augmentation.json");
  ASSERT_EQ(golden.at("motions").size(), 24u);
  for (const Json& entry : golden.at("motions")) {
    const std::string name = entry.at("motion").as_string();
    const ImageMotion motion = name == "rotation" ? ImageMotion::rotation
                               : name == "zoom"   ? ImageMotion::zoom
                                                  : ImageMotion::translation;
    expect_close(moved(entry, motion, options_of(entry)), entry.at("y"), name_of_case(entry), kPixels);
  }
}

TEST(GoldenAugmentation, Flips) {
  const Json golden = load("augmentation.json");
  ASSERT_EQ(golden.at("flips").size(), 3u);
  for (const Json& entry : golden.at("flips")) {
    const std::string mode = entry.at("mode").as_string();
    const ImageMotion motion = mode == "horizontal" ? ImageMotion::flip_horizontal
                               : mode == "vertical" ? ImageMotion::flip_vertical
                                                    : ImageMotion::flip_both;
    expect_close(moved(entry, motion, {.interpolation = ops::Interpolation::nearest}), entry.at("y"), mode,
                 {.absolute = 0.0, .relative = 0.0});
  }
}

TEST(GoldenAugmentation, TransformsOfEveryKind) {
  const Json golden = load("augmentation.json");
  ASSERT_EQ(golden.at("transforms").size(), 16u);
  for (const Json& entry : golden.at("transforms"))
    expect_close(
        ops::affine_transform(tensor(entry.at("x")), tensor(entry.at("transforms")), options_of(entry)),
        entry.at("y"), name_of_case(entry), {.absolute = 1e-4, .relative = 1e-4});
}

TEST(GoldenAugmentation, CropsOfSmallImages) {
  const Json golden = load("augmentation.json");
  ASSERT_EQ(golden.at("crops").size(), 7u);
  for (const Json& entry : golden.at("crops")) {
    const RandomCrop layer(entry.at("height").get<int64_t>(), entry.at("width").get<int64_t>());
    const Tensor x = tensor(entry.at("x"));
    layer.node().ensure_built({x.shape()});
    Call call;
    call.set_training(true);
    expect_close(layer(call, x), entry.at("y"), x.shape().to_string(), kPixels);
  }
}

}  // namespace
}  // namespace nyala::golden
