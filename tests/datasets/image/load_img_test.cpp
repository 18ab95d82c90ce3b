#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/datasets/image/decode_image.h>
#include <nyala/datasets/image/load_img.h>
#include <nyala/datasets/image/pillow_resize.h>
#include <nyala/tests/datasets/image/picture_files.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala {
namespace {

TEST(LoadImgTest, GivesFloatsOfTheFileByDefault) {
  const Tensor image = load_img(picture("rgb.png"));
  const Tensor bytes = decode_image_file(picture("rgb.png"));
  EXPECT_EQ(image.dtype(), DType::float32);
  ASSERT_EQ(image.shape(), (Shape{9, 13, 3}));
  for (int64_t i = 0; i < image.num_elements(); ++i)
    ASSERT_EQ(image.raw_as<float>()[i], static_cast<float>(bytes.raw_as<uint8_t>()[i]));
}

TEST(LoadImgTest, OnePixelBecomesAnySize) {
  const Tensor one = load_img(picture("one_pixel.png"));
  ASSERT_EQ(one.shape(), (Shape{1, 1, 3}));
  for (const char* name : {"nearest", "box", "bilinear", "hamming", "bicubic", "lanczos"}) {
    const Tensor many = load_img(picture("one_pixel.png"), {.target_size = {3, 2}, .interpolation = name});
    ASSERT_EQ(many.shape(), (Shape{3, 2, 3}));
    for (int64_t i = 0; i < many.num_elements(); ++i)
      EXPECT_EQ(many.raw_as<float>()[i], one.raw_as<float>()[i % 3]) << name;
  }
}

TEST(LoadImgTest, WrongArgumentsAreErrors) {
  const auto path = picture("rgb.png");
  EXPECT_EQ(
      error_text<InvalidArgumentError>([&] { load_img(path, {.color_mode = "rbg"}); }),
      "load_img: expected color_mode 'rgb', 'rgba' or 'grayscale', received 'rbg' (did you mean 'rgb'?)");
  EXPECT_THROW(load_img(path, {.target_size = {0, 5}}), InvalidArgumentError);
  EXPECT_THROW(load_img(path, {.target_size = {-1, -1}}), InvalidArgumentError);
  EXPECT_THROW(load_img(path, {.dtype = "int64"}), InvalidArgumentError);
  const std::string message =
      error_text<InvalidArgumentError>([&] { load_img(path, {.interpolation = "area"}); });
  EXPECT_NE(message.find("load_img: unknown interpolation 'area'"), std::string::npos) << message;
}

TEST(LoadImgTest, BrokenFilesNameTheirPath) {
  const ScratchFolder folder;
  const auto path = datasets::write_file(folder / "photo.png", {1, 2, 3});
  const std::string message = error_text<FileFormatError>([&] { load_img(path); });
  EXPECT_EQ(message.rfind(path.string(), 0), 0u) << message;
  EXPECT_THROW(load_img(folder / "absent.jpg"), IoError);
}

TEST(PillowResizeTest, RefusesWhatHasNoPixels) {
  const Tensor image = Tensor::zeros({4, 4, 3}, DType::uint8);
  EXPECT_THROW(pillow_resize(image, {0, 1}, PillowFilter::box, {0, 0, 4, 4}), InvalidArgumentError);
  EXPECT_THROW(pillow_resize(image, {1, 1}, PillowFilter::box, {1, 0, 4, 4}), InvalidArgumentError);
  EXPECT_THROW(pillow_resize(image, {1, 1}, PillowFilter::box, {0, 0, 0, 4}), InvalidArgumentError);
  EXPECT_THROW(pillow_resize(Tensor::zeros({0, 4, 3}, DType::uint8), {1, 1}, PillowFilter::box, {}),
               ShapeError);
  EXPECT_THROW(pillow_resize(Tensor::zeros({4, 4, 3}), {1, 1}, PillowFilter::box, {0, 0, 4, 4}), DTypeError);
}

TEST(PillowResizeTest, HiddenColoursDoNotShineThrough) {
  // A white pixel that can be seen beside a black one that cannot.
  const Tensor image = Tensor::from(std::vector<uint8_t>{255, 255, 255, 255, 0, 0, 0, 0}, {1, 2, 4});
  const Tensor one = pillow_resize(image, {1, 1}, PillowFilter::box, {0, 0, 2, 1});
  EXPECT_EQ(one.to_vector<uint8_t>(), (std::vector<uint8_t>{255, 255, 255, 128}));
}

}  // namespace
}  // namespace nyala
