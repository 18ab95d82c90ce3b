#include <cstdlib>

#include <gtest/gtest.h>

#include <nyala/tests/files/hdf5/oracle.h>

namespace nyala::hdf5::testing {
namespace {

std::filesystem::path data_folder() {
  const char* chosen = std::getenv("NYALA_TEST_DATA");
  return chosen != nullptr ? chosen : NYALA_TEST_DATA;
}

std::vector<std::string> hdf5_files() {
  std::vector<std::string> files;
  std::error_code code;
  for (std::filesystem::recursive_directory_iterator entry(data_folder(), code), end; !code && entry != end;
       entry.increment(code)) {
    const std::string extension = entry->path().extension().string();
    if (extension == ".h5" || extension == ".hdf5" || extension == ".keras")
      files.push_back(entry->path().string());
  }
  return files;
}

TEST(KerasFiles, EveryDatasetAndAttributeAsLibhdf5ReadsThem) {
  const std::vector<std::string> files = hdf5_files();
  if (files.empty()) GTEST_SKIP() << "no Keras files in " << data_folder() << " (set NYALA_TEST_DATA)";
  size_t datasets = 0;
  for (const std::string& path : files) {
    SCOPED_TRACE(path);
    if (H5Fis_hdf5(path.c_str()) <= 0) continue;
    const size_t found = expect_same_as_libhdf5(path);
    EXPECT_GT(found, 0u);
    datasets += found;
  }
  RecordProperty("files", static_cast<int>(files.size()));
  RecordProperty("datasets", static_cast<int>(datasets));
  EXPECT_GT(datasets, files.size());
}

TEST(KerasFiles, WholeModelsHaveTheirConfigAndNames) {
  const std::string path = (data_folder() / "weights/mobilenet_v1_0.25_224_imagenet_keras2.8.h5").string();
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is absent (set NYALA_TEST_DATA)";
  const Group root = File::open(path).root();
  EXPECT_EQ(root.attributes().string("model_config").substr(0, 15), R"({"class_name": )");
  const Group weights = root.group("model_weights");
  const std::vector<std::string> layers = weights.attributes().strings("layer_names");
  EXPECT_GT(layers.size(), 80u);
  for (const std::string& layer : layers) {
    const Group group = weights.group(layer);
    for (const std::string& weight : group.attributes().strings("weight_names"))
      EXPECT_TRUE(group.has_dataset(weight));
  }
}

}  // namespace
}  // namespace nyala::hdf5::testing
