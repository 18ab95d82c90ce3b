// Folders, sharded weights, legacy files: what is not tested with golden files of Keras.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/api/layers/all.h>
#include <nyala/api/optimizers/all.h>
#include <nyala/api/saving/load_model.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/all.h>
#include <nyala/files/hdf5/file.h>
#include <nyala/files/hdf5/writer.h>
#include <nyala/files/zip/archive.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala {
namespace {

class Formats : public testing::Test {
 protected:
  static Model network() {
    clear_session();
    return Sequential({Input({3}), Dense(4, {.activation = "relu"}), BatchNormalization(), Dense(2)});
  }
  static std::vector<float> all_values(const Model& model) {
    std::vector<float> all;
    for (const Tensor& weight : model.get_weights())
      for (const float value : weight.to_vector<float>()) all.push_back(value);
    return all;
  }
  void write(const std::string& name, std::span<const std::byte> bytes) const {
    std::ofstream(folder_.file(name), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  ScratchFolder folder_{"formats"};
};

TEST_F(Formats, AnUnzippedArchiveIsAFolder) {
  const Model model = network();
  model.save(folder_.file("m.keras"));
  const auto file = FileBytes::open(folder_.file("m.keras"));
  const zip::Archive archive(file);
  std::filesystem::create_directory(folder_.file("m"));
  for (const zip::Member& member : archive.members())
    write("m/" + member.name, archive.read(member.name).bytes.bytes());
  EXPECT_EQ(all_values(load_model(folder_.file("m"))), all_values(model));
  std::filesystem::remove(folder_.file("m/model.weights.h5"));
  EXPECT_THROW(load_model(folder_.file("m")), IoError);
}

TEST_F(Formats, DataOfArchivesAreAligned) {
  network().save(folder_.file("m.keras"));
  const zip::Archive archive(FileBytes::open(folder_.file("m.keras")));
  EXPECT_EQ(archive.members().size(), 3u);
  for (const zip::Member& member : archive.members()) EXPECT_EQ(member.begin % 64, 0u) << member.name;
}

/// As Keras' save_weights(max_shard_size) writes them: the variables of a layer may lie in two files.
TEST_F(Formats, ShardedWeights) {
  const Model model = network();
  hdf5::Writer parts[2];
  const std::vector<std::vector<std::string>> groups = {{"layers/dense/vars/", "0"},
                                                        {"layers/dense/vars/", "1"},
                                                        {"layers/batch_normalization/vars/", "0123"},
                                                        {"layers/dense_1/vars/", "01"}};
  size_t next = 0;
  for (size_t i = 0; i < groups.size(); ++i)
    for (const char number : groups[i][1])
      parts[i > 0].write_dataset(groups[i][0] + number, model.weights()[next++].value());
  parts[0].save(folder_.file("m_00000.weights.h5"));
  parts[1].save(folder_.file("m_00001.weights.h5"));
  const std::string index = folder_.file("m.weights.json");
  const auto write_index = [&](const std::string& first) {
    std::ofstream(index) << R"({"metadata": {"total_size": 8008.0}, "weight_map": {"/layers/dense/vars": [")"
                         << first
                         << R"(", "m_00001.weights.h5"], "/layers/dense_1/vars": "m_00001.weights.h5"}})";
  };
  write_index("m_00000.weights.h5");
  const Model loaded = network();
  EXPECT_TRUE(loaded.load_weights(index).complete());
  EXPECT_EQ(all_values(loaded), all_values(model));
  for (const char* outside : {"../m_00000.weights.h5", "/etc/passwd", "..", ""}) {
    write_index(outside);
    EXPECT_NE(error_text<FileFormatError>([&] { loaded.load_weights(index); }).find("outside of the folder"),
              std::string::npos);
  }
  write_index("missing.weights.h5");
  EXPECT_THROW(loaded.load_weights(index), IoError);
  write_index("m_00001.weights.h5");
  EXPECT_THROW(loaded.load_weights(index), ShapeError) << "a kernel is in the shard that is not named";
}

TEST_F(Formats, LegacyFilesByTheEndOfThePath) {
  const Model model = network();
  model.compile({.optimizer = SGD({.learning_rate = 0.1}), .loss = "mse"});
  model.train_on_batch(Batch{.x = {Tensor::full({2, 3}, 0.5)}, .y = {Tensor::zeros({2, 2})}});
  for (const char* name : {"m.h5", "m.hdf5"}) {
    model.save(folder_.file(name));
    const Model loaded = load_model(folder_.file(name));
    EXPECT_EQ(all_values(loaded), all_values(model));
    EXPECT_EQ(loaded.optimizer().iterations(), 1) << "of an optimizer without slots";
    const hdf5::Attributes attributes = hdf5::File::open(folder_.file(name)).root().attributes();
    EXPECT_EQ(attributes.string("backend"), "tensorflow");
    EXPECT_EQ(attributes.string("model_config").find("\"module\": \"keras.layers\""), std::string::npos);
    EXPECT_NE(attributes.string("training_config").find("optimizer_config"), std::string::npos);
  }
  EXPECT_THROW(model.save(folder_.file("m.weights.h5")), InvalidArgumentError);
  EXPECT_THROW(model.save_weights(folder_.file("m.h5")), InvalidArgumentError) << "as in Keras";
  EXPECT_THROW(Model(Sequential({Dense(2)})).save(folder_.file("m.h5")), StateError) << "not built";
}

/// More names than one attribute holds.
TEST_F(Formats, LegacyFilesOfManyLayers) {
  clear_session();
  Sequential model({Input({1})});
  for (int i = 0; i < 4100; ++i) model.add(Activation("relu"));
  model.add(Dense(1));
  model.save(folder_.file("m.h5"));
  const hdf5::Attributes attributes =
      hdf5::File::open(folder_.file("m.h5")).root().group("model_weights").attributes();
  EXPECT_TRUE(attributes.has("layer_names0"));
  EXPECT_TRUE(attributes.has("layer_names1"));
  EXPECT_FALSE(attributes.has("layer_names"));
  const Model loaded = load_model(folder_.file("m.h5"));
  EXPECT_EQ(loaded.layers().size(), 4101u);
  EXPECT_EQ(all_values(loaded), all_values(model));
}

/// A model by subclassing with a weight of its own.
struct Scaled final : ModelNode {
  Dense dense = track("dense", Dense(2));
  Variable factor;
  std::string class_name() const override { return "Scaled"; }
  void build(Builder& b, const Shapes& inputs) override {
    factor = b.weight("factor", {2}, "ones");
    ModelNode::build(b, inputs);
  }
  Tensor call(Call& c, const Tensor& x) const override { return dense(c, x) * c[factor]; }
};

TEST_F(Formats, LegacyFilesKeepTheWeightsOfTheModelItself) {
  const Model model = make_model<Scaled>();
  model.build({None, 3});
  for (const Variable& weight : model.weights()) weight.assign(0.75);
  register_serializable<Scaled>("tests");
  model.save(folder_.file("m.h5"));
  const Model other = make_model<Scaled>();
  other.build({None, 3});
  other.load_weights(folder_.file("m.h5"));
  EXPECT_EQ(all_values(other), all_values(model));
}

}  // namespace
}  // namespace nyala
