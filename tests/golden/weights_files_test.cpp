#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/api/layers/all.h>
#include <nyala/api/saving/hdf5/file.h>
#include <nyala/tests/golden/make_model.h>

namespace nyala::golden {
namespace {

const Tolerance kPrediction = {.absolute = 1e-5, .relative = 1e-5};

/// The Keras class of the same name in areas/weights_files.py.
struct Subclassed final : ModelNode {
  Dense output_dense = track("output_dense", Dense(3));
  Conv2D conv = track("conv", Conv2D(2, 3));
  GlobalAveragePooling2D pool = track("pool", GlobalAveragePooling2D());
  Dense dense = track("dense", Dense(4, {.activation = "relu"}));
  Tensor call(Call& c, const Tensor& x) const override {
    return output_dense(c, dense(c, pool(c, conv(c, x))));
  }
};

Model model_of(const Json& entry) {
  clear_session();
  if (entry.at("model").is_object()) return make_model_of(entry.at("model"));
  const Model model = make_model<Subclassed>();
  model.build(tensor(entry.at("x").at(0)).shape());
  return model;
}

/// Everything but the model with a list of layers, which has no counterpart here.
std::vector<Json> cases() {
  std::vector<Json> result;
  const Json golden = load("weights_files.json");
  for (const Json& entry : golden.at("cases"))
    if (entry.at("model") != "WithList") result.push_back(entry);
  return result;
}

Model loaded(const Json& entry, const std::filesystem::path& path) {
  const Model model = model_of(entry);
  if (!entry.at("compile").is_null())
    model.compile(make_compile_config(entry.at("compile"), entry.at("model")));
  model.load_weights(path.string());
  return model;
}

void expect_same_model(const Model& model, const Json& entry) {
  const std::string what = entry.at("file");
  Json expected = entry.at("weights");
  for (const Variable& weight : model.weights()) {
    const auto same = [&](const Json& other) {
      return other.at("path") == weight.path() || other.at("name") == weight.path();
    };
    EXPECT_TRUE(!entry.at("model").is_object() || std::any_of(expected.begin(), expected.end(), same))
        << weight.path();
  }
  expect_close(model.predict_all(tensors(entry.at("x")), {.verbose = 0}).at(0), entry.at("predict"), what,
               kPrediction);
  if (entry.contains("optimizer_variables"))
    expect_optimizer_state(model.optimizer(), entry.at("optimizer_variables"), what,
                           {.absolute = 0, .relative = 0});
}

TEST(GoldenWeightsFiles, LoadWhatKerasWrote) {
  for (const Json& entry : cases()) expect_same_model(loaded(entry, directory() / entry.at("file")), entry);
}

/// Saving again gives the same datasets and names that Keras wrote.
TEST(GoldenWeightsFiles, SaveAsKerasDoes) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "golden_saved.weights.h5";
  for (const Json& entry : cases()) {
    loaded(entry, directory() / entry.at("file")).save_weights(path.string());
    const hdf5::File file = hdf5::File::open(path.string());
    std::vector<std::string> expected, names;
    for (const Json& dataset : entry.at("datasets")) expected.push_back(dataset.at("path"));
    std::vector<std::string> found = file.root().dataset_paths();
    std::sort(found.begin(), found.end());
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(found, expected) << entry.at("file");
    expect_same_model(loaded(entry, path), entry);
    std::filesystem::remove(path);
  }
}

}  // namespace
}  // namespace nyala::golden
