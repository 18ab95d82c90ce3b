#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/files/hdf5/file.h>
#include <nyala/tests/golden/golden_data.h>

namespace nyala::golden {
namespace {

Tensor read(const hdf5::Dataset& dataset) {
  const Tensor result = Tensor::empty(dataset.shape(), dataset.dtype());
  dataset.read({static_cast<std::byte*>(result.raw()), result.bytes()});
  return result;
}

void check_datasets(const hdf5::Group& root, const Json& datasets, const std::string& file) {
  std::vector<std::string> expected;
  for (const Json& dataset : datasets) {
    expected.push_back(dataset.at("path").as_string());
    const Tensor value = read(root.dataset(expected.back()));
    EXPECT_EQ(name_of(value.dtype()), dataset.value("dtype", "float32")) << file << expected.back();
    expect_close(value, dataset, file + expected.back(), {.absolute = 0, .relative = 0});
  }
  std::vector<std::string> found = root.dataset_paths();
  std::sort(found.begin(), found.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(found, expected) << file;
}

void check_names(const hdf5::Group& root, const Json& groups, const std::string& file) {
  for (const Json& entry : groups) {
    const std::string path = entry.at("path").as_string();
    ASSERT_TRUE(root.has_group(path)) << file << path;
    const hdf5::Attributes attributes = root.group(path).attributes();
    EXPECT_EQ(attributes.has("name"), !entry.at("name").is_null()) << file << path;
    if (!attributes.has("name")) continue;
    EXPECT_EQ(attributes.string("name"), entry.at("name").get<std::string>()) << file << path;
  }
}

TEST(GoldenWeightsFiles, ReaderFindsEveryDatasetAndName) {
  const Json golden = load("weights_files.json");
  for (const Json& entry : golden.at("cases")) {
    const std::string name = entry.at("file").as_string();
    const hdf5::File file = hdf5::File::open((directory() / name).string());
    check_datasets(file.root(), entry.at("datasets"), name);
    check_names(file.root(), entry.at("groups"), name);
  }
}

}  // namespace
}  // namespace nyala::golden
