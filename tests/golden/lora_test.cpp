#include <string>

#include <gtest/gtest.h>

#include <nyala/api/layers/all.h>
#include <nyala/api/model/model.h>
#include <nyala/api/optimizers/sgd.h>
#include <nyala/api/saving/checkpoint.h>
#include <nyala/api/saving/load_model.h>
#include <nyala/backend/core/error.h>
#include <nyala/tests/golden/golden_data.h>
#include <nyala/tests/golden/on_devices.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala::golden::lora_test {
namespace {

/// That of tests/golden/areas/lora.py.
Model plain_model() {
  clear_session();
  const Input words({5}, {.dtype = "int32", .name = "words"}), image({6, 6, 3}, {.name = "image"});
  Tensor sequence = Embedding(7, 4, {.name = "embedding"})(words);
  sequence =
      EinsumDense("abc,cde->abde", {None, 2, 3}, {.bias_axes = "de", .name = "einsum_dense"})(sequence);
  sequence = Conv1D(3, 2, {.name = "conv1d"})(Reshape({5, 6})(sequence));
  const Tensor pictures = GlobalAveragePooling2D()(Conv2D(4, 3, {.name = "conv2d"})(image));
  const Tensor joined = Concatenate()({Flatten()(sequence), pictures});
  return Model({words, image}, Dense(5, {.activation = "tanh", .name = "dense"})(joined));
}

Model adapted_model(const Json& entry, int64_t rank) {
  const Model model = plain_model();
  LoraConfig config;
  if (!entry.at("alpha").is_null()) config.lora_alpha = number(entry.at("alpha"));
  for (const char* name : {"embedding", "einsum_dense", "conv1d", "conv2d", "dense"})
    model.get_layer(name).enable_lora(rank, config);
  return model;
}

Tensor predicted(const Model& model, const Json& entry) {
  return model.predict(tensors(entry.at("x")), {.verbose = 0});
}

class Lora : public ::testing::Test {
 protected:
  const Json golden_ = load("lora.json");
  const int64_t rank_ = golden_.at("rank").get<int64_t>();
  const ScratchFolder folder_{"lora"};

  /// With the values of Keras' weights.
  Model model_of(const Json& entry) const {
    Model model = adapted_model(entry, rank_);
    const Variables weights = model.weights();
    EXPECT_EQ(weights.size(), entry.at("weights").size());
    for (size_t i = 0; i < weights.size(); ++i) {
      const Json& expected = entry.at("weights").at(i);
      EXPECT_EQ(weights[i].path(), expected.at("path").as_string());
      EXPECT_EQ(weights[i].trainable(), expected.at("trainable").get<bool>()) << weights[i].path();
    }
    model.set_weights(tensors(entry.at("weights")));
    return model;
  }
  static void train(const Model& model, const Json& entry) {
    model.compile({.optimizer = SGD(0.1), .loss = "mse"});
    for (int step = 0; step < 3; ++step)
      model.train_on_batch(Batch{.x = tensors(entry.at("x")), .y = {tensor(entry.at("y"))}});
  }
  static void expect_trained(const Model& model, const Json& entry) {
    const Tensors weights = model.get_weights();
    for (size_t i = 0; i < weights.size(); ++i)
      expect_close(weights[i], entry.at("trained").at(i), model.weights()[i].path(), {2e-6, 2e-5});
    expect_close(predicted(model, entry), entry.at("trained_prediction"), "trained", {5e-6, 2e-5});
  }
};

TEST_F(Lora, ComputesAndTrainsAsInKeras) {
  for (const Json& entry : golden_.at("cases")) {
    const Model model = model_of(entry);
    expect_close(predicted(model, entry), entry.at("prediction"), "prediction");
    train(model, entry);
    expect_trained(model, entry);
  }
}

TEST_F(Lora, TrainsOnReplicasAsOnOneDevice) {
  for (const Json& entry : golden_.at("cases")) {
    const OnDevices two(2);
    const auto scope = two.strategy().scope();
    const Model model = model_of(entry);
    train(model, entry);
    expect_trained(model, entry);
  }
}

TEST_F(Lora, FilesHoldTheKernelWithItsProduct) {
  for (const Json& entry : golden_.at("cases")) {
    const Model keras = load_model((directory() / (entry.at("file").as_string() + ".keras")).string());
    expect_close(predicted(keras, entry), entry.at("prediction"), "Keras' file");
    EXPECT_EQ(keras.weights().size(), entry.at("weights").size());
    const Model model = model_of(entry);
    model.save(folder_.file("again.keras"));
    expect_close(predicted(load_model(folder_.file("again.keras")), entry), entry.at("prediction"),
                 "our file");
    // Factors that begin anew can be trained: the gradient of b is not 0.
    const Model again = load_model(folder_.file("again.keras"));
    train(again, entry);
    EXPECT_NE(predicted(again, entry).to_vector<float>(), predicted(keras, entry).to_vector<float>());
    // Weights go into a model without factors, too, and from there.
    model.save_weights(folder_.file("m.weights.h5"));
    const Model plain = plain_model();
    plain.load_weights(folder_.file("m.weights.h5"));
    expect_close(predicted(plain, entry), entry.at("prediction"), "without factors");
  }
}

TEST_F(Lora, CheckpointsKeepTheFactors) {
  const Json& entry = golden_.at("cases").at(0);
  const Model model = model_of(entry), other = adapted_model(entry, rank_);
  train(model, entry);
  Checkpoint(model).save(folder_.file("c.weights.h5"));
  other.compile({.optimizer = SGD(0.1), .loss = "mse"});
  Checkpoint(other).restore(folder_.file("c.weights.h5"));
  const Tensors expected = model.get_weights(), got = other.get_weights();
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(got[i].to_vector<float>(), expected[i].to_vector<float>()) << model.weights()[i].path();
}

TEST_F(Lora, RefusesWhatDoesNotFit) {
  const Model model = plain_model();
  EXPECT_THROW(model.get_layer("dense").enable_lora(0), InvalidArgumentError);
  model.get_layer("dense").enable_lora(1);
  EXPECT_THROW(model.get_layer("dense").enable_lora(1), StateError);
  EXPECT_THROW(model.get_layer("flatten").enable_lora(1), InvalidArgumentError);
  EXPECT_THROW(Dense(3).enable_lora(1), StateError);
  const Dense kept(3, {.kernel_constraint = "non_neg"});
  kept(Tensor::ones({1, 2}));
  EXPECT_THROW(kept.enable_lora(1), InvalidArgumentError);
}

}  // namespace
}  // namespace nyala::golden::lora_test
