#include <filesystem>

#include <gtest/gtest.h>

#include <nyala/nyala.h>
#include <nyala/tests/datasets/test_files.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala {
namespace {

/// A folder of class folders with pictures of different sizes whose colour tells the class.
void write_pictures(const std::filesystem::path& root, int count) {
  const std::pair<const char*, size_t> classes[] = {{"blue", 2}, {"green", 1}, {"red", 0}};
  for (const auto& [name, channel] : classes) {
    std::filesystem::create_directories(root / name);
    for (int i = 0; i < count; ++i) {
      const int64_t height = 5 + i, width = 9 - i;
      datasets::Bytes pixels =
          datasets::noise(static_cast<size_t>(height * width * 3), static_cast<uint32_t>(i));
      for (size_t p = 0; p < pixels.size(); ++p)
        pixels[p] = static_cast<uint8_t>(pixels[p] / 4 + (p % 3 == channel ? 180 : 0));
      save_img(root / name / (std::to_string(i) + ".png"), Tensor::from(pixels, {height, width, 3}),
               {.scale = false});
    }
  }
}

TEST(FitImagesTest, ModelsLearnFromFoldersOfPictures) {
  const ScratchFolder folder;
  write_pictures(folder.path(), 6);
  set_random_seed(1);
  const auto [train, validation] = image_datasets_from_directory(
      folder.path(), {.batch_size = 4, .image_size = {6, 6}, .seed = 1, .validation_split = 0.34});
  Sequential model({Input({6, 6, 3}), Rescaling(1.0 / 255), GlobalAveragePooling2D(),
                    Dense(3, {.activation = "softmax"})});
  model.compile({.optimizer = Adam({.learning_rate = 0.1}),
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy"}});
  const History history = model.fit(train, {.epochs = 30, .verbose = 0, .validation_data = validation});
  EXPECT_EQ(history["accuracy"].back(), 1.0);
  EXPECT_EQ(history["val_accuracy"].back(), 1.0);
}

TEST(FitImagesTest, BrokenPicturesCanBeLeftOutOfTraining) {
  const ScratchFolder folder;
  write_pictures(folder.path(), 3);
  datasets::write_file(folder / "red/broken.jpg", {0xff, 0xd8, 0xff});
  const auto fit = [&](bool skip) {
    const ImageDataset data = image_dataset_from_directory(
        folder.path(), {.batch_size = 4, .image_size = {4, 4}, .seed = 1, .skip_broken = skip});
    Sequential model({Input({4, 4, 3}), Flatten(), Dense(3, {.activation = "softmax"})});
    model.compile({.optimizer = "sgd", .loss = "sparse_categorical_crossentropy"});
    model.fit(data, {.epochs = 2, .verbose = 0});
    return data.broken_files().size();
  };
  EXPECT_THROW(fit(false), FileFormatError);
  EXPECT_EQ(fit(true), 1u);
}

}  // namespace
}  // namespace nyala
