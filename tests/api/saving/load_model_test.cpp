#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/api/layers/all.h>
#include <nyala/api/losses/all.h>
#include <nyala/api/optimizers/all.h>
#include <nyala/api/saving/load_model.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/all.h>
#include <nyala/backend/runtime/random.h>
#include <nyala/files/hdf5/writer.h>
#include <nyala/files/zip/archive_writer.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala::load_model_test {
namespace {

Tensor numbers(const Shape& shape, uint64_t seed = 1) {
  DrawStream random(seed);
  std::vector<float> values(static_cast<size_t>(shape.num_elements()));
  for (float& value : values) value = static_cast<float>(random.uniform(-1.0, 1.0));
  return Tensor::from(values, shape);
}

std::vector<float> predict(const Model& model, const Tensor& x) {
  return model.predict(x, {.verbose = 0}).to_vector<float>();
}

class ModelFile : public testing::Test {
 protected:
  ModelFile() : folder_("model_file"), path_(folder_.file("m.keras")) {}
  /// The text of the error of loading an archive with this config.
  std::string refusal(const std::string& config, const LoadModelConfig& options = {}) {
    zip::ArchiveWriter writer(path_);
    writer.add("metadata.json", "{}");
    writer.add("config.json", config);
    writer.add("model.weights.h5", hdf5::Writer().finish().bytes);
    writer.commit();
    try {
      load_model(path_, options);
    } catch (const FileFormatError& error) {
      return error.what();
    }
    ADD_FAILURE() << "not refused: " << config;
    return "";
  }
  void expect_refused(const std::string& config, const std::string& reason) {
    const std::string text = refusal(config);
    EXPECT_NE(text.find(reason), std::string::npos) << text;
    EXPECT_NE(text.find(path_), std::string::npos) << text;
  }

  ScratchFolder folder_;
  std::string path_;
};

/// A layer of the user's with a setting.
struct ScaleConfig {
  double factor = 1.0;
  void fields(FieldVisitor& v) { v.field("factor", factor); }
};
struct Scale : LayerNode {
  using Config = ScaleConfig;
  explicit Scale(const ScaleConfig& config = {}) : config_(config) {}
  std::string class_name() const override { return "Scale"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }
  void build(Builder& b, const Shape& input) override {
    offset_ = b.weight("offset", {input.back()}, "ones");
  }
  Tensor call(Call& c, const Tensor& x) const override { return x * config_.factor + c[offset_]; }

 private:
  ScaleConfig config_;
  Variable offset_;
};

struct Pair final : ModelNode {
  Dense first = track("first", Dense(4, {.activation = "relu"}));
  Dense second = track("second", Dense(2));
  std::string class_name() const override { return "Pair"; }
  Tensor call(Call& c, const Tensor& x) const override { return second(c, first(c, x)); }
};

TEST_F(ModelFile, TrainingGoesOnWhereItStopped) {
  set_random_seed(3);
  const Sequential model({Input({6}), Dense(5, {.activation = "tanh"}), BatchNormalization(), Dense(2)});
  model.compile({.optimizer = Adam({.learning_rate = 0.01, .weight_decay = 0.1}),
                 .loss = MeanSquaredError(),
                 .metrics = {"mae"}});
  const Tensor x = numbers({20, 6}), y = numbers({20, 2}, 2);
  const FitConfig twice{.batch_size = 5, .epochs = 2, .verbose = 0, .shuffle = false};
  model.fit(x, y, twice);
  model.save(path_);
  const Model loaded = load_model(path_);
  EXPECT_EQ(loaded.name(), model.name());
  EXPECT_EQ(predict(loaded, x), predict(model, x));
  EXPECT_EQ(loaded.optimizer().iterations(), model.optimizer().iterations());
  const History went_on = model.fit(x, y, twice), began_there = loaded.fit(x, y, twice);
  EXPECT_EQ(went_on["mae"], began_there["mae"]);
  EXPECT_EQ(predict(loaded, x), predict(model, x));
}

/// As in Keras its file begins with the Input that the data gave it.
TEST_F(ModelFile, OfASequentialThatBeganWithoutAnInput) {
  const Sequential model({Dense(3, {.activation = "tanh"}), Dense(2)});
  model.compile({.optimizer = "adam", .loss = "mse"});
  const Tensor x = numbers({4, 5}), y = numbers({4, 2});
  model.fit(x, y, {.verbose = 0});
  for (const std::string& path : {path_, path_ + ".h5"}) {
    model.save(path);
    const Model loaded = load_model(path);
    EXPECT_EQ(predict(loaded, x), predict(model, x)) << path;
    EXPECT_EQ(predict(loaded, numbers({7, 5})).size(), 14u);
    EXPECT_EQ(loaded.optimizer().iterations(), 1);
    EXPECT_THROW(loaded.predict(numbers({4, 6})), ShapeError);
  }
  std::filesystem::remove(path_ + ".h5");
}

TEST_F(ModelFile, WithoutCompiling) {
  const Sequential model({Input({3}), Dense(2)});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.save(path_);
  EXPECT_TRUE(load_model(path_).compiled());
  EXPECT_FALSE(load_model(path_, {.compile = false}).compiled());
}

TEST_F(ModelFile, FrozenLayersStayFrozen) {
  const Dense inner(3), head(2);
  const Sequential base({Input({4}), inner});
  const Sequential model({Input({4}), base, head});
  inner.set_trainable(false);
  model.save(path_);
  const Model loaded = load_model(path_);
  EXPECT_EQ(loaded.trainable_weights().size(), 2u);
  EXPECT_EQ(loaded.weights().size(), 4u);
}

/// Keras 3.15: a layer thawed inside a frozen model trains with the model around both, and after loading,
/// too.
TEST_F(ModelFile, LayersThawedInFrozenModelsStaySo) {
  const Input input({4});
  const std::vector<Model> bases = {Sequential({Input({4}), Dense(3), Dense(3)}),
                                    Model(input, Dense(3)(Dense(3)(input)))};
  for (const Model& base : bases) {
    base.set_trainable(false);
    base.layers().back().set_trainable(true);
    const Sequential model({Input({4}), base, Dense(2)});
    EXPECT_EQ(base.trainable_weights().size(), 0u);
    EXPECT_EQ(base.non_trainable_weights().size(), 4u);
    EXPECT_EQ(model.trainable_weights().size(), 4u);
    model.compile({.optimizer = "adam", .loss = "mse"});
    const Tensor x = numbers({4, 4}), y = numbers({4, 2});
    model.fit(x, y, {.verbose = 0, .shuffle = false});
    model.save(path_);
    const Model loaded = load_model(path_);
    EXPECT_EQ(loaded.trainable_weights().size(), 4u);
    EXPECT_EQ(loaded.optimizer().node().variables_for_file().size(), 10u);
    EXPECT_EQ(loaded.optimizer().iterations(), 1);
    model.fit(x, y, {.verbose = 0, .shuffle = false});
    loaded.fit(x, y, {.verbose = 0, .shuffle = false});
    EXPECT_EQ(predict(loaded, x), predict(model, x));
  }
}

TEST_F(ModelFile, ClassesOfTheUser) {
  const Sequential model({Input({3}), make_layer<Scale>(ScaleConfig{2.5}), Dense(2)});
  const Tensor x = numbers({4, 3});
  model.save(path_);
  const auto refused = [&] {
    try {
      load_model(path_);
    } catch (const FileFormatError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(refused().find("register_serializable<Scale>"), std::string::npos) << refused();
  EXPECT_EQ(predict(load_model(path_, {.custom_objects = {{"Scale", custom_object<Scale>()}}}), x),
            predict(model, x));
  register_serializable<Scale>("tests");
  EXPECT_EQ(predict(load_model(path_), x), predict(model, x));
  model.save(path_);
  EXPECT_EQ(predict(load_model(path_), x), predict(model, x));
  EXPECT_NE(model.to_json().find("tests>Scale"), std::string::npos);
}

TEST_F(ModelFile, ModelsBySubclassing) {
  const Model model = make_model<Pair>();
  EXPECT_THROW(model.save(path_), StateError) << "not built";
  register_serializable<Pair>("tests");
  model.build({None, 3});
  model.save(path_);
  const Tensor x = numbers({4, 3});
  EXPECT_EQ(predict(load_model(path_), x), predict(model, x));
  const Model again = make_model<Pair>();
  again.build({None, 3});
  again.load_weights(path_);
  EXPECT_EQ(predict(again, x), predict(model, x));
}

TEST_F(ModelFile, FunctionsInTheArchitectureAreRefused) {
  const Sequential custom({Input({3}), Dense(2, {.activation = [](const Tensor& x) { return x * 2.0; }})});
  EXPECT_THROW(custom.save(path_), InvalidArgumentError);
}

TEST_F(ModelFile, HostileConfigsAreRefused) {
  expect_refused("{", "JSON");
  expect_refused("[1]", "class_name");
  expect_refused(std::string(100000, '['), "deep");
  expect_refused(R"({"class_name": "Dense", "config": {"units": 3}})", "expected a model");
  const auto sequential = [](const std::string& layer) {
    return R"({"class_name": "Sequential", "config": {"name": "s", "layers": [)" + layer + "]}}";
  };
  expect_refused(sequential(R"({"class_name": "Lambda", "config": {"name": "l", "function": "4wEA"}})"),
                 "never run");
  expect_refused(sequential(R"({"class_name": "STFTSpectrogram", "config": {"name": "x"}})"),
                 "layer 'x' (STFTSpectrogram) is no layer that Nyala has");
  expect_refused(sequential(R"({"class_name": "Dense", "config": {"name": "d", "units": 2,
      "kernel_initializer": {"class_name": "Mine", "config": {}}}})"),
                 "initializer 'Mine' is none of Nyala's and none that was registered");
  expect_refused(sequential(R"({"class_name": "Dense", "config": {"name": "d", "units": "many"}})"),
                 "an integer");
  expect_refused(sequential(R"({"class_name": "Dense", "config": {"name": "d", "units": -3}})"), "units");
  expect_refused(
      sequential(R"({"class_name": "Dense", "config": {"name": "d", "units": 2, "activation": "rely"}})"),
      "relu");
  expect_refused(
      sequential(R"({"class_name": "InputLayer", "config": {"name": "i", "batch_shape": [null, -5]}})"),
      "a size");
  expect_refused(R"({"class_name": "Functional", "config": {"name": "f", "layers": [
      {"class_name": "InputLayer", "name": "i", "config": {"name": "i", "batch_shape": [null, 2]},
       "inbound_nodes": []},
      {"class_name": "Dense", "name": "d", "config": {"name": "d", "units": 2}, "inbound_nodes": [
        {"args": [{"class_name": "__keras_tensor__", "config": {"keras_history": ["d", 0, 0]}}],
         "kwargs": {}}]}],
      "input_layers": [["i", 0, 0]], "output_layers": [["d", 0, 0]]}})",
                 "circle");
}

TEST_F(ModelFile, DeepNestsAreRefused) {
  std::string config = R"({"class_name": "Dense", "config": {"units": 1}})";
  for (int i = 0; i < 60; ++i)
    config = R"({"class_name": "TimeDistributed", "config": {"name": "t", "layer": )" + config + "}}";
  expect_refused(config, "deeper");
}

TEST_F(ModelFile, OtherFilesAreRefused) {
  std::ofstream(path_) << "hello";
  EXPECT_THROW(load_model(path_), FileFormatError);
  EXPECT_THROW(load_model(folder_.file("none.keras")), IoError);
  const Sequential model({Input({3}), Dense(2)});
  const std::string weights = folder_.file("w.weights.h5");
  model.save_weights(weights);
  EXPECT_THROW(load_model(weights), FileFormatError);
  EXPECT_THROW(model.save(folder_.file("m.txt")), InvalidArgumentError);
}

TEST_F(ModelFile, JsonAndClones) {
  const Sequential model({Input({3}), Dense(4, {.activation = "relu"}), Dropout(0.5), Dense(2)});
  const Model copy = model_from_json(model.to_json()), clone = clone_model(model);
  EXPECT_EQ(copy.to_json(), model.to_json());
  EXPECT_EQ(clone.weights().size(), model.weights().size());
  EXPECT_FALSE(clone.weights()[0] == model.weights()[0]);
  clone.set_weights(model.get_weights());
  const Tensor x = numbers({5, 3});
  EXPECT_EQ(predict(clone, x), predict(model, x));
}

TEST_F(ModelFile, PartsOfAFile) {
  const Sequential model({Input({3}), Dense(4), Dense(2)}), wider({Input({3}), Dense(4), Dense(5)});
  model.save(path_);
  EXPECT_THROW(wider.load_weights(path_), ShapeError);
  const LoadReport report = wider.load_weights(path_, {.skip_mismatch = true});
  EXPECT_EQ(report.loaded, std::vector<std::string>{"layers/dense"});
  EXPECT_EQ(report.mismatched, std::vector<std::string>{"layers/dense_1"});
  EXPECT_FALSE(report.complete());
  EXPECT_EQ(wider.get_weights()[0].to_vector<float>(), model.get_weights()[0].to_vector<float>());
  const Sequential other({Input({3}), Dense(4), Dense(2)});
  const auto before = other.get_weights()[0].to_vector<float>();
  other.load_weights(path_, {.objects_to_skip = {other.layers()[0]}});
  EXPECT_EQ(other.get_weights()[0].to_vector<float>(), before);
  EXPECT_EQ(other.get_weights()[2].to_vector<float>(), model.get_weights()[2].to_vector<float>());
  EXPECT_THROW(other.load_weights(path_, {.by_name = true}), InvalidArgumentError);
}

}  // namespace
}  // namespace nyala::load_model_test
