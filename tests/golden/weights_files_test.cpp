#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/api/layers/all.h>
#include <nyala/files/hdf5/file.h>
#include <nyala/tests/golden/make_model.h>

namespace nyala::golden::weights_files_test {
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
  const std::string what = entry.at("file").as_string();
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
  for (const Json& entry : cases())
    expect_same_model(loaded(entry, directory() / entry.at("file").as_string()), entry);
}

/// Saving again gives the same datasets and names that Keras wrote.
TEST(GoldenWeightsFiles, SaveAsKerasDoes) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "golden_saved.weights.h5";
  for (const Json& entry : cases()) {
    loaded(entry, directory() / entry.at("file").as_string()).save_weights(path.string());
    const hdf5::File file = hdf5::File::open(path.string());
    std::vector<std::string> expected, names;
    for (const Json& dataset : entry.at("datasets")) expected.push_back(dataset.at("path").as_string());
    std::vector<std::string> found = file.root().dataset_paths();
    std::sort(found.begin(), found.end());
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(found, expected) << entry.at("file");
    expect_same_model(loaded(entry, path), entry);
    std::filesystem::remove(path);
  }
}

/// Written by Nyala, read by Keras (read_checksums_with_keras.py): what the file has for us alone is no
/// matter there.
TEST(WeightsFiles, OfNyalaWithChecksumsOpenInKeras) {
  const Json golden = load("checksums.json");
  const std::string path = (directory() / "checksums.weights.h5").string();
  clear_session();
  const Model model =
      Sequential({Input({6}), Dense(8, {.activation = "relu"}), Dropout(0.25), Dense(3)}, {.name = "mlp"});
  model.compile({.optimizer = "adam", .loss = "mse"});
  EXPECT_TRUE(model.load_weights(path).complete());
  const auto values = [](const Json& list, Shape shape) {
    std::vector<float> all;
    for (const Json& value : list) all.push_back(value.get<float>());
    return Tensor::from(all, shape);
  };
  const Tensor y = model.predict(values(golden.at("x"), {4, 6}), {.verbose = 0});
  const std::vector<float> expected = values(golden.at("y"), {12}).to_vector<float>();
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(y.to_vector<float>()[i], expected[i], 1e-5) << i;
  const auto state = model.optimizer().node().shared_variables_for_file();
  ASSERT_EQ(state.size(), golden.at("optimizer").size());
  for (size_t i = 2; i < state.size(); ++i)  // behind the steps and the rate
    EXPECT_EQ(state[i].value.to_vector<float>(),
              values(golden.at("optimizer").at(i), {state[i].value.num_elements()}).to_vector<float>());

  // The file is what we write today.
  std::vector<std::string> attributes;
  const std::string again =
      (std::filesystem::temp_directory_path() / "nyala_checksums_again.weights.h5").string();
  model.save_weights(again);
  const hdf5::Group root = hdf5::File::open(again).root();
  const auto add = [&](const std::string& object, const hdf5::Attributes& of) {
    for (const std::string& name : of.names()) attributes.push_back(object + "@" + name);
  };
  add("/", root.attributes());
  for (const std::string& dataset : root.dataset_paths()) add(dataset, root.dataset(dataset).attributes());
  std::filesystem::remove(again);
  std::vector<std::string> in_golden = golden.at("attributes").get<std::vector<std::string>>();
  std::erase_if(in_golden, [](const std::string& name) { return name.ends_with("@name"); });
  std::sort(attributes.begin(), attributes.end());
  EXPECT_EQ(attributes, in_golden);
}

}  // namespace
}  // namespace nyala::golden::weights_files_test
