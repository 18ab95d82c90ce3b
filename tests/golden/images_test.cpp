#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/backend/ops/image/resize_images.h>
#include <nyala/datasets/image/decode_image.h>
#include <nyala/datasets/image/image_dataset.h>
#include <nyala/datasets/image/load_img.h>
#include <nyala/datasets/image/resize_with_pad.h>
#include <nyala/datasets/pad_sequences.h>
#include <nyala/tests/golden/golden_data.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala::golden {
namespace {

namespace fs = std::filesystem;

constexpr Tolerance kExact = {.absolute = 0, .relative = 0};
constexpr Tolerance kResized = {.absolute = 1e-4, .relative = 1e-4};
constexpr Tolerance kResizedBytes = {.absolute = 1e-3, .relative = 1e-4};  // of values up to 255

fs::path picture(const Json& name) { return directory() / "pictures" / name.get<std::string>(); }

const Json& images() {
  static const Json all = load("images.json");
  return all;
}

template <class T>
T value_or(const Json& config, const char* key, T fallback) {
  return config.contains(key) ? config.at(key).get<T>() : fallback;
}

ImageSize size_of_json(const Json& size) { return {size.at(0).get<int64_t>(), size.at(1).get<int64_t>()}; }

/// Decoders of JPEG differ by a level or two, at sharp edges of colour by more.
void expect_nearly_same(const Tensor& got, const Json& expected, const std::string& what) {
  const Tensor wanted = tensor(expected);
  ASSERT_EQ(got.shape(), wanted.shape()) << what;
  double sum = 0;
  int worst = 0;
  for (int64_t i = 0; i < got.num_elements(); ++i) {
    const int difference = std::abs(int{got.raw_as<uint8_t>()[i]} - int{wanted.raw_as<uint8_t>()[i]});
    sum += difference;
    worst = std::max(worst, difference);
  }
  EXPECT_LE(sum / static_cast<double>(got.num_elements()), 1.0) << what;
  EXPECT_LE(worst, 6) << what;
}

TEST(GoldenImages, Decoded) {
  for (const Json& entry : images().at("decoded")) {
    const std::string what =
        entry.at("file").get<std::string>() + " " + entry.at("color_mode").get<std::string>();
    const Tensor got = load_img(picture(entry.at("file").as_string()),
                                {.color_mode = entry.at("color_mode").as_string(), .dtype = "uint8"});
    if (what.find(".jpg") != std::string::npos)
      expect_nearly_same(got, entry.at("image"), what);
    else
      expect_close(got, entry.at("image"), what, kExact);
  }
}

TEST(GoldenImages, LoadImgResizesAsPillow) {
  for (const Json& entry : images().at("load_img")) {
    const Json& config = entry.at("config");
    const Tensor got = load_img(picture(entry.at("file").as_string()),
                                {.color_mode = config.at("color_mode").as_string(),
                                 .target_size = size_of_json(config.at("target_size")),
                                 .interpolation = config.at("interpolation").as_string(),
                                 .keep_aspect_ratio = value_or(config, "keep_aspect_ratio", false),
                                 .dtype = "uint8"});
    expect_close(got, entry.at("image"), entry.at("file").get<std::string>() + " " + config.dump(), kExact);
  }
}

TEST(GoldenImages, ResizeImages) {
  for (const Json& entry : images().at("resize")) {
    const Json& config = entry.at("config");
    const ImageSize size = size_of_json(entry.at("size"));
    const ops::ResizeOptions options{
        .interpolation = ops::detail::interpolation_of(config.at("interpolation").get<std::string>()),
        .antialias = value_or(config, "antialias", false),
        .crop_to_aspect_ratio = value_or(config, "crop_to_aspect_ratio", false),
        .pad_to_aspect_ratio = value_or(config, "pad_to_aspect_ratio", false),
        .fill_value = value_or(config, "fill_value", 0.0)};
    expect_close(ops::resize_images(tensor(entry.at("x")), size.height, size.width, options), entry.at("y"),
                 config.dump() + entry.at("size").dump(), kResized);
  }
}

TEST(GoldenImages, ResizeWithPad) {
  for (const Json& entry : images().at("resize_with_pad")) {
    const std::string name = entry.at("interpolation").as_string();
    const Tensor got = resize_with_pad(tensor(entry.at("x")), size_of_json(entry.at("size")),
                                       {.interpolation = ops::detail::interpolation_of(name)});
    expect_close(got, entry.at("y"), name + entry.at("size").dump(), kResized);
  }
}

ImageDatasetConfig config_of(const Json& json) {
  ImageDatasetConfig config;
  config.shuffle = value_or(json, "shuffle", true);
  if (json.contains("seed")) config.seed = json.at("seed").get<int64_t>();
  config.validation_split = value_or(json, "validation_split", 0.0);
  config.subset = value_or(json, "subset", std::string());
  config.class_names = value_or(json, "class_names", std::vector<std::string>());
  config.interpolation = value_or(json, "interpolation", std::string("bilinear"));
  config.crop_to_aspect_ratio = value_or(json, "crop_to_aspect_ratio", false);
  config.pad_to_aspect_ratio = value_or(json, "pad_to_aspect_ratio", false);
  if (json.contains("batch_size")) config.batch_size = json.at("batch_size").get<int64_t>();
  if (json.contains("image_size")) config.image_size = size_of_json(json.at("image_size"));
  if (json.contains("label_mode"))
    config.label_mode = json.at("label_mode").is_null()
                            ? std::nullopt
                            : std::optional<std::string>(json.at("label_mode").as_string());
  if (json.contains("labels")) {
    if (json.at("labels").is_null())
      config.labels = std::nullopt;
    else
      config.labels = json.at("labels").get<std::vector<int64_t>>();
  }
  return config;
}

TEST(GoldenImages, DirectoriesAreListedShuffledAndSplitAsInKeras) {
  const ScratchFolder folder("golden_images");
  for (const Json& name : images().at("tree")) {
    const fs::path path = folder.path() / name.get<std::string>();
    fs::create_directories(path.parent_path());
    std::ofstream(path).put('x');
  }
  for (const Json& entry : images().at("listings")) {
    const std::string what = entry.at("config").dump();
    const ImageDataset dataset = image_dataset_from_directory(folder.path(), config_of(entry.at("config")));
    std::vector<std::string> files;
    for (const fs::path& path : dataset.file_paths()) files.push_back(path.lexically_relative(folder.path()));
    EXPECT_EQ(files, entry.at("files").get<std::vector<std::string>>()) << what;
    const Json& labels = entry.at("labels");
    EXPECT_EQ(dataset.labels(),
              labels.is_null() ? std::vector<int64_t>() : labels.get<std::vector<int64_t>>())
        << what;
    const Json& names = entry.at("class_names");
    EXPECT_EQ(dataset.class_names(),
              names.is_null() ? std::vector<std::string>() : names.get<std::vector<std::string>>())
        << what;
  }
}

TEST(GoldenImages, Batches) {
  const ScratchFolder folder("golden_images");
  const Json& entries = images().at("batches");
  for (const auto& [name, files] : entries.at(0).at("classes").items()) {
    fs::create_directories(folder.path() / name);
    for (const Json& file : files)
      fs::copy_file(picture(file), folder.path() / name / file.get<std::string>());
  }
  for (const Json& entry : entries) {
    const std::string what = entry.at("config").dump();
    const ImageDataset dataset = image_dataset_from_directory(folder.path(), config_of(entry.at("config")));
    size_t count = 0;
    for (const Batch& batch : dataset) {
      ASSERT_LT(count, entry.at("x").size()) << what;
      expect_close(batch.x.at(0), entry.at("x").at(count), what, kResizedBytes);
      const Json& y = entry.at("y").at(count++);
      ASSERT_EQ(batch.y.size(), y.is_null() ? 0u : 1u) << what;
      if (!y.is_null()) {
        EXPECT_EQ(batch.y[0].dtype(), tensor(y).dtype()) << what;
        expect_close(batch.y[0], y, what, kExact);
      }
    }
    EXPECT_EQ(count, entry.at("x").size()) << what;
  }
}

TEST(GoldenImages, PadSequences) {
  for (const Json& entry : images().at("pad_sequences")) {
    const Json& json = entry.at("config");
    PadSequencesConfig config;
    if (json.contains("maxlen")) config.maxlen = json.at("maxlen").get<int64_t>();
    config.dtype = value_or(json, "dtype", std::string("int32"));
    config.padding = value_or(json, "padding", std::string("pre"));
    config.truncating = value_or(json, "truncating", std::string("pre"));
    config.value = value_or(json, "value", 0.0);
    Tensors sequences;
    for (const Json& sequence : entry.at("sequences")) {
      std::vector<double> values;
      int64_t width = 0;
      for (const Json& step : sequence) {
        const std::vector<double> more = step.is_array() ? numbers(step) : std::vector<double>{number(step)};
        width = step.is_array() ? static_cast<int64_t>(more.size()) : 0;
        values.insert(values.end(), more.begin(), more.end());
      }
      const auto length = static_cast<int64_t>(sequence.size());
      sequences.push_back(Tensor::from(values, width ? Shape{length, width} : Shape{length}));
    }
    const Tensor got = pad_tensor_sequences(sequences, config);
    EXPECT_EQ(got.dtype(), tensor(entry.at("y")).dtype()) << json.dump();
    expect_close(got, entry.at("y"), json.dump(), kExact);
  }
}

}  // namespace
}  // namespace nyala::golden
