#include <map>
#include <string>

#include <gtest/gtest.h>

#include <nyala/api/layers/preprocessing/hashed_crossing.h>
#include <nyala/api/layers/preprocessing/hashing.h>
#include <nyala/api/layers/preprocessing/integer_lookup.h>
#include <nyala/api/model/model.h>
#include <nyala/api/saving/load_model.h>
#include <nyala/tests/golden/from_config.h>
#include <nyala/tests/golden/golden_data.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala::golden::lookups_test {
namespace {

/// A configuration with `salt` as a list, as files have it.
Json with_lists(Json config) {
  if (config.contains("salt") && config.at("salt").is_number())
    config["salt"] = Json::array({config.at("salt")});
  return config;
}

template <class L>
L layer_of(const Json& entry) {
  typename L::Config config;
  const Json json = with_lists(entry.at("config"));
  JsonFields fields(json);
  config.fields(fields);
  config.dtype = json.value("dtype", "");
  return L(config);
}

Layer any_layer_of(const Json& entry) {
  const std::string name = entry.at("name").as_string();
  if (name == "Hashing") return layer_of<Hashing>(entry);
  if (name == "HashedCrossing") return layer_of<HashedCrossing>(entry);
  return layer_of<IntegerLookup>(entry);
}

void expect_same(const Tensor& got, const Json& expected, const std::string& what) {
  EXPECT_EQ(name_of(got.dtype()), expected.value("dtype", "float32")) << what;
  expect_close(got, expected, what);
}

TEST(GoldenLookups, GiveWhatKerasGives) {
  const Json golden = load("lookups.json");
  for (const Json& entry : golden.at("cases")) {
    const Layer layer = any_layer_of(entry);
    const Tensors x = tensors(entry.at("x"));
    expect_same(layer.call_all(x).at(0), entry.at("y"), label(entry));
  }
}

TEST(GoldenLookups, LearnWhatKerasLearns) {
  const Json golden = load("lookups.json");
  for (const Json& entry : golden.at("adapted")) {
    const auto whole = layer_of<IntegerLookup>(entry), parts = layer_of<IntegerLookup>(entry);
    const Tensor x = tensor(entry.at("x"));
    whole.adapt(x);
    parts.adapt(Dataset::from_tensor_slices(x).batch(4));
    using Tokens = std::vector<int64_t>;
    EXPECT_EQ(whole.get_vocabulary(), entry.at("vocabulary").get<Tokens>()) << label(entry);
    EXPECT_EQ(parts.get_vocabulary(), entry.at("vocabulary_of_batches").get<Tokens>()) << label(entry);
    expect_same(whole(x), entry.at("y"), label(entry));
    expect_same(parts(x), entry.at("y_of_batches"), label(entry) + " of batches");
  }
}

TEST(GoldenLookups, VocabulariesComeFromFilesAndGoThere) {
  const Json golden = load("lookups.json");
  const Json& entry = golden.at("file");
  const Model model = load_model((directory() / "lookups.keras").string());
  const ScratchFolder folder("lookups");
  model.save(folder.file("again.keras"));
  const Model again = load_model(folder.file("again.keras"));
  for (const Model& each : {model, again}) {
    const Tensors results = each.call_all({tensor(entry.at("x"))});
    ASSERT_EQ(results.size(), entry.at("y").size());
    for (size_t i = 0; i < results.size(); ++i)
      expect_same(results[i], entry.at("y").at(i), "output " + std::to_string(i));
  }
  EXPECT_THROW(model.save(folder.file("again.h5")), InvalidArgumentError);
}

}  // namespace
}  // namespace nyala::golden::lookups_test
