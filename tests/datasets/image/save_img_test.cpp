#include <limits>
#include <random>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/datasets/image/decode_image.h>
#include <nyala/datasets/image/load_img.h>
#include <nyala/datasets/image/save_img.h>
#include <nyala/tests/datasets/image/picture_files.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala {
namespace {

Tensor random_image(const Shape& shape) {
  return Tensor::from(datasets::noise(static_cast<size_t>(shape.num_elements())), shape);
}

TEST(SaveImgTest, LosslessFormatsGiveThePixelsBack) {
  const ScratchFolder folder;
  for (const char* name : {"a.png", "a.bmp", "A.PNG"})
    for (const int64_t channels : {1, 3, 4})
      for (const auto& [height, width] : {std::pair{7, 5}, {1, 1}, {2, 300}}) {
        const Tensor image = random_image({height, width, channels});
        save_img(folder / name, image, {.scale = false});
        const Tensor back = decode_image_file(folder / name, {.channels = channels});
        EXPECT_EQ(back.shape(), image.shape());
        EXPECT_EQ(back.to_vector<uint8_t>(), image.to_vector<uint8_t>()) << name << channels;
      }
}

TEST(SaveImgTest, ALinkStaysOne) {
  const ScratchFolder folder;
  const Tensor image = random_image({2, 2, 3});
  save_img(folder / "old.png", random_image({4, 4, 3}), {.scale = false});
  std::filesystem::create_symlink("old.png", folder / "link.png");
  save_img(folder / "link.png", image, {.scale = false});
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link.png"));
  EXPECT_EQ(decode_image_file(folder / "old.png", {}).to_vector<uint8_t>(), image.to_vector<uint8_t>());
}

TEST(SaveImgTest, JpegGivesNearlyThePixelsBack) {
  const ScratchFolder folder;
  std::vector<float> values;
  for (int i = 0; i < 24 * 40 * 3; ++i)
    values.push_back(static_cast<float>(i % 120) + static_cast<float>(i / 120));
  const Tensor image = Tensor::from(values, {24, 40, 3});
  save_img(folder / "a.jpg", image, {.scale = false, .quality = 95});
  const Tensor back = load_img(folder / "a.jpg");
  ASSERT_EQ(back.shape(), image.shape());
  double sum = 0;
  for (size_t i = 0; i < values.size(); ++i) sum += std::abs(back.raw_as<float>()[i] - values[i]);
  EXPECT_LT(sum / static_cast<double>(values.size()), 2.5);
  save_img(folder / "b.jpg", image, {.scale = false, .quality = 20});
  EXPECT_LT(std::filesystem::file_size(folder / "b.jpg"), std::filesystem::file_size(folder / "a.jpg"));
}

TEST(SaveImgTest, ScalesAsKerasDoes) {
  const ScratchFolder folder;
  // -1, 0, 1, 3 less their minimum, over their maximum, times 255, cut: 0, 63.75, 127.5, 255.
  save_img(folder / "a.png", Tensor::from(std::vector<float>{-1, 0, 1, 3}, {2, 2, 1}));
  EXPECT_EQ(decode_image_file(folder / "a.png").to_vector<uint8_t>(),
            (std::vector<uint8_t>{0, 63, 127, 255}));
  save_img(folder / "a.png", Tensor::full({1, 2, 1}, 7.0));
  EXPECT_EQ(decode_image_file(folder / "a.png").to_vector<uint8_t>(), (std::vector<uint8_t>{0, 0}));
  save_img(folder / "a.png", Tensor::from(std::vector<double>{-9, 0.9, 254.6, 300}, {1, 4, 1}),
           {.scale = false});
  EXPECT_EQ(decode_image_file(folder / "a.png").to_vector<uint8_t>(), (std::vector<uint8_t>{0, 0, 254, 255}));
}

TEST(SaveImgTest, JpegDropsTransparencyWithAWarning) {
  const ScratchFolder folder;
  std::string warning;
  set_log_sink([&](LogChannel channel, std::string_view text) {
    if (channel == LogChannel::warning) warning = text;
  });
  save_img(folder / "x", random_image({8, 8, 4}), {.scale = false, .file_format = "jpg"});
  set_log_sink({});
  EXPECT_NE(warning.find("transparency"), std::string::npos);
  EXPECT_EQ(decode_image_file(folder / "x").shape(), (Shape{8, 8, 3}));
}

TEST(SaveImgTest, WhatCannotBeSavedIsAnErrorAndLeavesTheOldFile) {
  const ScratchFolder folder;
  const Tensor image = random_image({4, 4, 3});
  save_img(folder / "a.png", image);
  const auto before = datasets::read_file(folder / "a.png");
  EXPECT_THROW(save_img(folder / "a.gif", image), InvalidArgumentError);
  EXPECT_THROW(save_img(folder / "a", image), InvalidArgumentError);
  EXPECT_THROW(save_img(folder / "a.jpg", image, {.quality = 0}), InvalidArgumentError);
  EXPECT_THROW(save_img(folder / "a.png", random_image({4, 4})), ShapeError);
  EXPECT_THROW(save_img(folder / "a.png", random_image({4, 4, 2})), ShapeError);
  EXPECT_THROW(save_img(folder / "a.png", random_image({0, 4, 3})), ShapeError);
  EXPECT_THROW(save_img(folder / "a.png", Tensor::full({1, 1, 1}, std::numeric_limits<double>::quiet_NaN())),
               NumericError);
  EXPECT_THROW(save_img(folder / "no/such/folder.png", image), IoError);
  std::filesystem::create_directory(folder / "b.png");
  EXPECT_THROW(save_img(folder / "b.png", image), IoError);
  EXPECT_EQ(datasets::read_file(folder / "a.png"), before);
  size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path())) ++files;
  EXPECT_EQ(files, 2u) << "something was left behind";
}

}  // namespace
}  // namespace nyala
