#include <algorithm>
#include <cmath>
#include <mutex>
#include <set>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/datasets/image/image_dataset.h>
#include <nyala/datasets/image/save_img.h>
#include <nyala/tests/datasets/image/picture_files.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala {
namespace {

namespace fs = std::filesystem;
using Failure = InvalidArgumentError;

/// Class folders whose pictures have one level each: 10 * class + number.
class ImageDatasetTest : public testing::Test {
 protected:
  static fs::path write(const fs::path& path, double level, const Shape& shape = {5, 4, 3}) {
    fs::create_directories(path.parent_path());
    save_img(path, Tensor::full(shape, level), {.scale = false});
    return path;
  }
  void write_classes(int classes, int files) const {
    for (int c = 0; c < classes; ++c)
      for (int i = 0; i < files; ++i)
        write(folder_ / ("class" + std::to_string(c) + "/" + std::to_string(i) + ".png"), 10 * c + i);
  }
  const fs::path& root() const { return folder_.path(); }

  ScratchFolder folder_;
};

/// Levels of the pictures of an iteration, batches side by side.
std::vector<int> levels(const Dataset& dataset, int64_t epoch = 0) {
  std::vector<int> out;
  DatasetIterator iterator = dataset.iterate({.epoch = epoch});
  Batch batch;
  while (iterator.next(batch)) {
    const Tensor& x = batch.x.at(0);
    const int64_t pixels = x.num_elements() / x.shape()[0];
    for (int64_t row = 0; row < x.shape()[0]; ++row)
      out.push_back(static_cast<int>(std::lround(x.data<float>()[static_cast<size_t>(row * pixels)])));
  }
  return out;
}

std::vector<int> sorted(std::vector<int> values) {
  std::sort(values.begin(), values.end());
  return values;
}

TEST_F(ImageDatasetTest, BatchesOfPicturesWithTheirClasses) {
  write_classes(3, 4);
  const ImageDataset dataset =
      image_dataset_from_directory(root(), {.batch_size = 5, .image_size = {6, 7}, .shuffle = false});
  EXPECT_EQ(dataset.class_names(), (std::vector<std::string>{"class0", "class1", "class2"}));
  EXPECT_EQ(dataset.file_paths().size(), 12u);
  EXPECT_EQ(dataset.labels(), (std::vector<int64_t>{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2}));
  EXPECT_EQ(dataset.cardinality(), 3);
  EXPECT_EQ(dataset.is_batched(), true);
  EXPECT_EQ(levels(dataset), (std::vector<int>{0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23}));
  DatasetIterator iterator = dataset.iterate();
  Batch batch;
  ASSERT_TRUE(iterator.next(batch));
  EXPECT_EQ(batch.x[0].shape(), (Shape{5, 6, 7, 3}));
  EXPECT_EQ(batch.x[0].dtype(), DType::float32);
  EXPECT_EQ(batch.y[0].to_vector<int32_t>(), (std::vector<int32_t>{0, 0, 0, 0, 1}));
  ASSERT_TRUE(iterator.next(batch));
  ASSERT_TRUE(iterator.next(batch));
  EXPECT_EQ(batch.x[0].shape()[0], 2);
}

TEST_F(ImageDatasetTest, LabelModes) {
  write_classes(2, 1);
  const auto first = [&](const ImageDatasetConfig& config) {
    Batch batch;
    EXPECT_TRUE(image_dataset_from_directory(root(), config).iterate().next(batch));
    return batch;
  };
  const Tensor categorical = first({.label_mode = "categorical", .shuffle = false}).y[0];
  EXPECT_EQ(categorical.shape(), (Shape{2, 2}));
  EXPECT_EQ(categorical.to_vector<float>(), (std::vector<float>{1, 0, 0, 1}));
  const Tensor binary = first({.label_mode = "binary", .shuffle = false}).y[0];
  EXPECT_EQ(binary.shape(), (Shape{2, 1}));
  EXPECT_EQ(binary.to_vector<float>(), (std::vector<float>{0, 1}));
  EXPECT_TRUE(first({.label_mode = std::nullopt}).y.empty());
  EXPECT_TRUE(first({.labels = std::nullopt}).y.empty());
  EXPECT_EQ(first({.labels = {7, 5}, .shuffle = false}).y[0].to_vector<int32_t>(),
            (std::vector<int32_t>{7, 5}));
  const Batch single = first({.batch_size = std::nullopt, .image_size = {3, 3}, .shuffle = false});
  EXPECT_EQ(single.x[0].shape(), (Shape{3, 3, 3}));
  EXPECT_EQ(single.y[0].shape(), Shape{});
}

TEST_F(ImageDatasetTest, ShufflesDifferentlyInEachIterationButAlikeBySeed) {
  write_classes(4, 10);
  const ImageDatasetConfig config = {.batch_size = 4, .image_size = {2, 2}, .seed = 5};
  const ImageDataset one = image_dataset_from_directory(root(), config),
                     two = image_dataset_from_directory(root(), config);
  const std::vector<int> first = levels(one, 0), second = levels(one, 1);
  EXPECT_NE(first, second);
  EXPECT_EQ(first, levels(two, 0));
  EXPECT_EQ(sorted(first), sorted(second));
  EXPECT_EQ(first.size(), 40u);
  const auto other =
      levels(image_dataset_from_directory(root(), {.batch_size = 4, .image_size = {2, 2}, .seed = 6}));
  EXPECT_NE(first, other);
}

TEST_F(ImageDatasetTest, BothPartsOfASplitAreTheWhole) {
  write_classes(3, 7);
  const ImageDatasetConfig config = {.image_size = {2, 2}, .seed = 3, .validation_split = 0.3};
  const auto [train, validation] = image_datasets_from_directory(root(), config);
  EXPECT_EQ(train.file_paths().size(), 15u);
  EXPECT_EQ(validation.file_paths().size(), 6u);
  std::vector<int> all = levels(train);
  const std::vector<int> rest = levels(validation);
  EXPECT_EQ(rest, levels(validation, 1)) << "the validation part is shuffled between iterations";
  all.insert(all.end(), rest.begin(), rest.end());
  EXPECT_EQ(std::set<int>(all.begin(), all.end()).size(), 21u);
  ImageDatasetConfig part = config;
  part.subset = "validation";
  EXPECT_EQ(image_dataset_from_directory(root(), part).file_paths(), validation.file_paths());
}

TEST_F(ImageDatasetTest, GreyPicturesBecomeColouredAndColouredOnesGrey) {
  write(folder_ / "a/grey.png", 40, {3, 3, 1});
  write(folder_ / "a/rgba.png", 90, {3, 3, 4});
  for (const auto& [mode, channels] : {std::pair{"rgb", 3}, {"grayscale", 1}}) {
    const ImageDataset dataset =
        image_dataset_from_directory(root(), {.color_mode = mode, .image_size = {3, 3}, .shuffle = false});
    EXPECT_EQ(levels(dataset), (std::vector<int>{40, 90})) << mode;
    Batch batch;
    ASSERT_TRUE(dataset.iterate().next(batch));
    EXPECT_EQ(batch.x[0].shape(), (Shape{2, 3, 3, channels}));
  }
}

TEST_F(ImageDatasetTest, BrokenPicturesNameTheirPath) {
  write_classes(2, 3);
  const fs::path broken = datasets::write_file(folder_ / "class0/1.png", {1, 2, 3});
  const ImageDataset dataset =
      image_dataset_from_directory(root(), {.batch_size = 2, .image_size = {2, 2}, .shuffle = false});
  DatasetIterator iterator = dataset.iterate();
  Batch batch;
  const std::string message = error_text<FileFormatError>([&] {
    while (iterator.next(batch)) {
    }
  });
  EXPECT_EQ(message.rfind(broken.string(), 0), 0u) << message;
}

TEST_F(ImageDatasetTest, BrokenPicturesCanBeLeftOut) {
  write_classes(2, 3);
  datasets::write_file(folder_ / "class0/1.png", {1, 2, 3});
  fs::remove(folder_ / "class1/2.png");
  fs::create_symlink("nothing", folder_ / "class1/2.png");
  std::mutex mutex;
  std::vector<std::string> warnings;
  set_log_sink([&](LogChannel channel, std::string_view text) {
    const std::lock_guard lock(mutex);
    if (channel == LogChannel::warning) warnings.emplace_back(text);
  });
  const ImageDataset dataset = image_dataset_from_directory(
      root(), {.batch_size = 4, .image_size = {2, 2}, .shuffle = false, .skip_broken = true});
  EXPECT_EQ(levels(dataset), (std::vector<int>{0, 2, 10, 11}));
  EXPECT_EQ(levels(dataset), (std::vector<int>{0, 2, 10, 11}));
  set_log_sink({});
  EXPECT_EQ(dataset.broken_files(),
            (std::vector<fs::path>{folder_ / "class0/1.png", folder_ / "class1/2.png"}));
  ASSERT_EQ(warnings.size(), 2u) << "each file once";
  EXPECT_NE((warnings[0] + warnings[1]).find("class0/1.png"), std::string::npos) << warnings[0];
  EXPECT_EQ(dataset.cardinality(), kUnknownCardinality);
}

TEST_F(ImageDatasetTest, NothingButBrokenPicturesIsAnEmptyIteration) {
  datasets::write_file(folder_ / "a/1.png", {});
  EXPECT_TRUE(levels(image_dataset_from_directory(root(), {.skip_broken = true})).empty());
}

TEST_F(ImageDatasetTest, DirectoriesWithoutPicturesAreErrors) {
  const std::string empty = error_text<Failure>([&] { image_dataset_from_directory(root()); });
  EXPECT_NE(empty.find("expected pictures"), std::string::npos) << empty;
  write(folder_ / "loose.png", 1);
  const std::string loose = error_text<Failure>([&] { image_dataset_from_directory(root()); });
  EXPECT_NE(loose.find("outside of class folders"), std::string::npos) << loose;
  EXPECT_EQ(image_dataset_from_directory(root(), {.labels = std::nullopt}).file_paths().size(), 1u);
  EXPECT_THROW(image_dataset_from_directory(folder_ / "absent"), NotFoundError);
  EXPECT_THROW(image_dataset_from_directory(folder_ / "loose.png"), NotFoundError);
}

TEST_F(ImageDatasetTest, WrongArgumentsAreErrors) {
  write_classes(3, 2);
  const auto fails = [&](const ImageDatasetConfig& config) {
    return error_text<Failure>([&] { image_dataset_from_directory(root(), config); });
  };
  EXPECT_NE(fails({.labels = "infered"}), "");
  EXPECT_NE(fails({.labels = {1, 2}}).find("received 2 for the 6 files"), std::string::npos);
  EXPECT_NE(fails({.labels = {-1, 0, 0, 0, 0, 0}}), "");
  EXPECT_NE(fails({.labels = {9, 0, 0, 0, 0, 0}, .label_mode = "categorical"}), "");
  EXPECT_NE(fails({.label_mode = "categorial"}).find("did you mean 'categorical'"), std::string::npos);
  EXPECT_NE(fails({.label_mode = "binary"}).find("two classes"), std::string::npos);
  EXPECT_NE(fails({.labels = std::nullopt, .class_names = {"class0"}}), "");
  EXPECT_NE(fails({.class_names = {"class0", "class0"}}), "");
  EXPECT_NE(fails({.color_mode = "bgr"}), "");
  EXPECT_NE(fails({.batch_size = 0}), "");
  EXPECT_NE(fails({.image_size = {0, 4}}), "");
  EXPECT_NE(fails({.seed = -1}), "");
  EXPECT_NE(fails({.validation_split = 0.5}).find("neither"), std::string::npos);
  EXPECT_NE(fails({.subset = "training"}), "");
  EXPECT_NE(fails({.validation_split = 0.5, .subset = "training"}).find("expected a seed"),
            std::string::npos);
  EXPECT_NE(fails({.seed = 1, .validation_split = 1.5, .subset = "training"}), "");
  EXPECT_NE(fails({.seed = 1, .validation_split = 0.5, .subset = "test"}), "");
  EXPECT_NE(
      fails({.seed = 1, .validation_split = 0.5, .subset = "both"}).find("image_datasets_from_directory"),
      std::string::npos);
  EXPECT_NE(fails({.seed = 1, .validation_split = 0.01, .subset = "validation"}).find("too few"),
            std::string::npos);
  EXPECT_NE(fails({.interpolation = "lanczos"}), "");
  EXPECT_NE(fails({.crop_to_aspect_ratio = true, .pad_to_aspect_ratio = true}), "");
  EXPECT_THROW(image_dataset_from_directory(root(), {.class_names = {"class9"}}), NotFoundError);
  EXPECT_THROW(image_datasets_from_directory(root(), {.seed = 1}), Failure);
}

TEST_F(ImageDatasetTest, LinksAreFollowedWhenAskedForButNotInCircles) {
  write(folder_ / "data/a/1.png", 1);
  write(folder_ / "elsewhere/2.png", 2);
  fs::create_directory_symlink(folder_ / "elsewhere", folder_ / "data/a/more");
  fs::create_directory_symlink(folder_ / "data/a", folder_ / "data/a/circle");
  const auto count = [&](bool follow) {
    return image_dataset_from_directory(folder_ / "data", {.follow_links = follow}).file_paths().size();
  };
  EXPECT_EQ(count(false), 1u);
  EXPECT_EQ(count(true), 2u);
}

TEST_F(ImageDatasetTest, FromListsOfFiles) {
  const std::vector<fs::path> paths = {write(folder_ / "x.png", 3), write(folder_ / "y.png", 4),
                                       write(folder_ / "z.png", 5)};
  const ImageDatasetConfig config = {.label_mode = "categorical", .image_size = {2, 2}, .shuffle = false};
  const ImageDataset dataset = image_dataset_from_files(paths, {2, 0, 2}, config);
  EXPECT_EQ(levels(dataset), (std::vector<int>{3, 4, 5}));
  EXPECT_EQ(dataset.class_names(), (std::vector<std::string>{"0", "1", "2"}));
  Batch batch;
  ASSERT_TRUE(dataset.iterate().next(batch));
  EXPECT_EQ(batch.y[0].to_vector<float>(), (std::vector<float>{0, 0, 1, 1, 0, 0, 0, 0, 1}));
  EXPECT_EQ(levels(image_dataset_from_files(paths, {}, {.shuffle = false})), (std::vector<int>{3, 4, 5}));
  EXPECT_THROW(image_dataset_from_files(paths, {0, 1, 2}, {.class_names = {"cat", "dog"}}), Failure);
  EXPECT_THROW(image_dataset_from_files({}, {}), Failure);
  EXPECT_THROW(image_dataset_from_files(paths, {1}), Failure);
  EXPECT_THROW(image_dataset_from_files(paths, {0, 1, 5}, {.label_mode = "binary"}), Failure);
  EXPECT_THROW(image_dataset_from_files(paths, {0, 1, 1}, {.validation_split = 0.5, .subset = "training"}),
               Failure);
  EXPECT_THROW(levels(image_dataset_from_files({folder_ / "absent.png"}, {})), IoError);
}

}  // namespace
}  // namespace nyala
