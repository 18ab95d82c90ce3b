#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/api/saving/load_model.h>
#include <nyala/files/base/file_bytes.h>
#include <nyala/files/hdf5/file.h>
#include <nyala/files/zip/archive.h>
#include <nyala/tests/golden/golden_data.h>
#include <nyala/tests/golden/on_devices.h>

namespace nyala::golden::model_files_test {
namespace {

const Tolerance kPrediction = {.absolute = 1e-5, .relative = 1e-5};
const Tolerance kTrained = {.absolute = 2e-5, .relative = 1e-4};

struct Case {
  Json entry;
  std::string suffix;
};

std::vector<Case> cases() {
  std::vector<Case> result;
  const Json golden = load("model_files.json");
  for (const Json& entry : golden.at("cases"))
    for (const char* suffix : {".keras", ".h5"}) result.push_back({entry, suffix});
  return result;
}

class GoldenModelFile : public testing::TestWithParam<Case> {
 protected:
  std::string path() const {
    return (directory() / (GetParam().entry.at("file").get<std::string>() + GetParam().suffix)).string();
  }
  std::string written(const std::string& suffix) const {
    return testing::TempDir() + GetParam().entry.at("file").get<std::string>() + GetParam().suffix + suffix;
  }
  static void expect_outputs(const Tensors& outputs, const Json& expected, const std::string& what,
                             const Tolerance& tolerance) {
    ASSERT_EQ(outputs.size(), expected.size()) << what;
    for (size_t i = 0; i < outputs.size(); ++i)
      expect_close(outputs[i], expected.at(i), what + " " + std::to_string(i), tolerance);
  }
  static void train(const Model& model, const Json& entry) {
    for (int step = 0; step < 2; ++step)
      model.train_on_batch(Batch{.x = tensors(entry.at("x")), .y = tensors(entry.at("y"))});
  }
};

TEST_P(GoldenModelFile, PredictsAndGoesOnTrainingAsKerasDoes) {
  const Json& entry = GetParam().entry;
  const Model model = load_model(path());
  ASSERT_TRUE(model.compiled());
  const Tensors x = tensors(entry.at("x"));
  expect_outputs(model.predict_all(x, {.verbose = 0}), entry.at("prediction"), "read", kPrediction);
  for (const char* suffix : {".keras", ".h5"}) model.save(written(suffix));
  train(model, entry);
  expect_outputs(model.predict_all(x, {.verbose = 0}), entry.at("trained"), "trained", kTrained);
  for (const char* suffix : {".keras", ".h5"}) {
    SCOPED_TRACE(suffix);
    const Model again = load_model(written(suffix));
    expect_outputs(again.predict_all(x, {.verbose = 0}), entry.at("prediction"), "read again", kPrediction);
    train(again, entry);
    expect_outputs(again.predict_all(x, {.verbose = 0}), entry.at("trained"), "trained again", kTrained);
    std::filesystem::remove(written(suffix));
  }
}

TEST_P(GoldenModelFile, TrainsOnSeveralDevicesAsKerasDoesOnOne) {
  const Json& entry = GetParam().entry;
  for (const int count : {2, 3}) {
    SCOPED_TRACE(count);
    const OnDevices devices(count);
    const Model model = devices.strategy().scope([&] { return load_model(path()); });
    train(model, entry);
    expect_outputs(model.predict_all(tensors(entry.at("x")), {.verbose = 0}), entry.at("trained"), "trained",
                   kTrained);
  }
}

std::vector<std::string> datasets_in(const std::string& path) {
  const zip::Archive archive(FileBytes::open(path));
  return hdf5::File::from_bytes(archive.read("model.weights.h5").bytes, path).root().dataset_paths();
}

TEST_P(GoldenModelFile, AnArchiveHoldsTheDatasetsOfKeras) {
  if (GetParam().suffix != ".keras") return;
  load_model(path()).save(written(".keras"));
  EXPECT_EQ(datasets_in(written(".keras")), datasets_in(path()));
  std::filesystem::remove(written(".keras"));
}

/// Names of the weights follow today's models, which may count on: their order and number are compared.
TEST_P(GoldenModelFile, ALegacyFileHoldsTheListsOfKeras) {
  if (GetParam().suffix != ".h5") return;
  load_model(path()).save(written(".h5"));
  const hdf5::File file = hdf5::File::open(written(".h5")), expected = hdf5::File::open(path());
  EXPECT_EQ(file.root().names(), expected.root().names());
  EXPECT_EQ(file.root().attributes().names(), expected.root().attributes().names());
  const hdf5::Group weights = file.root().group("model_weights"),
                    theirs = expected.root().group("model_weights");
  EXPECT_EQ(weights.names(), theirs.names());
  EXPECT_EQ(weights.attributes().strings("layer_names"), theirs.attributes().strings("layer_names"));
  for (const std::string& layer : weights.names())
    EXPECT_EQ(weights.group(layer).attributes().strings("weight_names"),
              theirs.group(layer).attributes().strings("weight_names"));
  EXPECT_EQ(file.root().group("optimizer_weights").attributes().strings("weight_names"),
            expected.root().group("optimizer_weights").attributes().strings("weight_names"));
  std::filesystem::remove(written(".h5"));
}

INSTANTIATE_TEST_SUITE_P(Models, GoldenModelFile, testing::ValuesIn(cases()),
                         [](const testing::TestParamInfo<Case>& info) {
                           return info.param.entry.at("file").get<std::string>() + "_" +
                                  info.param.suffix.substr(1);
                         });

}  // namespace
}  // namespace nyala::golden::model_files_test
