// A file written under any way to use devices is read under any other: training goes on with the numbers that
// one device, not interrupted, has.
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/nyala.h>
#include <nyala/strategies/central_storage.h>
#include <nyala/tests/support/scratch_folder.h>
#include <nyala/tests/conformance/strategies/promise_case.h>

namespace nyala::save_load_pairs_test {
namespace {

/// BatchNormalization and Dropout, Adam with clipping, and a partial last batch.
Model make_net() {
  Sequential net({Input({6}), Dense(8, {.activation = "relu", .kernel_regularizer = "l2"}),
                  BatchNormalization(), Dropout(0.25), Dense(3)});
  net.compile({.optimizer = Adam({.learning_rate = 0.02, .clipnorm = 0.5}),
               .loss = SparseCategoricalCrossentropy({.from_logits = true}),
               .metrics = {"accuracy"}});
  return net;
}

Model under(const Strategy& strategy) { return strategy.scope(make_net); }

struct Way {
  std::string name;
  std::function<Model()> make;
};

std::vector<Way> ways() {
  const std::vector<std::string> two = {"cpu:0", "cpu:1"}, three = {"cpu:0", "cpu:1", "cpu:2"};
  return {
      {"OneDevice", [] { return under(OneDeviceStrategy("cpu:0")); }},
      {"Mirrored on 2", [=] { return under(MirroredStrategy({.devices = two})); }},
      {"Mirrored on 3, separate weights",
       [=] { return under(MirroredStrategy({.devices = three, .shared_weights = SharedWeights::never})); }},
      {"CentralStorage on 2", [=] { return under(CentralStorageStrategy({.compute_devices = two})); }},
      {"multi_gpu_model on 2", [] { return multi_gpu_model(make_net(), {.gpus = 2}); }},
      {"DataParallel on 3", []() -> Model {
         return DataParallel(make_net(), {.device_ids = {0, 1, 2}});
       }}};
}

class SaveLoadPairs : public ::testing::Test {
 protected:
  void SetUp() override {
    configure_logical_devices("cpu", 3);
    x_ = random_numbers(1, {43, 6}, DType::float32);
    y_ = random_labels(2, 43, 3);
  }
  void TearDown() override { configure_logical_devices("cpu", 1); }

  static Model fresh(const Way& way, uint64_t seed) {
    clear_session();
    set_random_seed(seed);
    return way.make();
  }
  void train(const Model& model, int first, int epochs) const {
    model.fit(x_, y_, {.batch_size = 8, .epochs = epochs, .verbose = 0, .initial_epoch = first});
  }
  Outcome outcome(const Model& model) const {
    Outcome all;
    int index = 0;
    auto add = [&](const std::string& name, const Tensor& value) {
      all[std::to_string(index++) + " " + name] =
          ops::cast(value.to("cpu:0"), DType::float64).to_vector<double>();
    };
    for (const Variable& variable : model.weights()) add(variable.path(), variable.value());
    for (const OptimizerVariable& variable : model.optimizer().node().variables_for_file())
      add(variable.name, variable.value);
    for (const auto& [name, value] : model.evaluate(x_, y_, {.batch_size = 8, .verbose = 0}))
      all[name] = {value};
    add("predictions", model.predict(x_, {.batch_size = 8, .verbose = 0}));
    return all;
  }
  /// Fails unless the outcomes are those of one device.
  static void expect_same(const Outcome& received, const Outcome& expected) {
    const Difference difference = difference_of(received, expected, DType::float32);
    EXPECT_LE(difference.allowed, 1.0) << difference.where;
  }

  Tensor x_, y_;
};

TEST_F(SaveLoadPairs, TrainingGoesOnFromACheckpointOfAnyOther) {
  const ScratchFolder folder("save_load_pairs");
  const Model uninterrupted = fresh(ways()[0], 1);
  train(uninterrupted, 0, 1);
  const Outcome half = outcome(uninterrupted);
  train(uninterrupted, 1, 3);
  const Outcome expected = outcome(uninterrupted);
  for (const Way& saver : ways()) {
    const std::string file = folder.file(saver.name);
    const Model saved = fresh(saver, 1);
    train(saved, 0, 1);
    Checkpoint(saved).save(file, {.epoch = 1});
    for (const Way& loader : ways()) {
      SCOPED_TRACE("saved under " + saver.name + ", loaded under " + loader.name);
      const Model loaded = fresh(loader, 99);
      EXPECT_EQ(Checkpoint(loaded).restore(file).epoch, 1);
      expect_same(outcome(loaded), half);
      train(loaded, 1, 3);
      expect_same(outcome(loaded), expected);
    }
  }
}

TEST_F(SaveLoadPairs, WeightsFilesHoldWeightsAndOptimizer) {
  const ScratchFolder folder("save_load_pairs_weights");
  const Model one = fresh(ways()[0], 1);
  train(one, 0, 2);
  const Outcome expected = outcome(one);
  for (const Way& saver : ways()) {
    const std::string file = folder.file(saver.name + ".weights.h5");
    const Model saved = fresh(saver, 1);
    train(saved, 0, 2);
    saved.save_weights(file);
    for (const Way& loader : ways()) {
      SCOPED_TRACE("saved under " + saver.name + ", loaded under " + loader.name);
      const Model loaded = fresh(loader, 99);
      loaded.load_weights(file);
      expect_same(outcome(loaded), expected);
    }
  }
}

/// Weights by variable path: the optimizer's state stays behind.
TEST_F(SaveLoadPairs, SafetensorsAndArraysHoldTheWeights) {
  const ScratchFolder folder("save_load_pairs_arrays");
  const auto weights_and_predictions = [&](const Model& model) {
    Outcome all;
    int index = 0;
    for (const Variable& variable : model.weights())
      all[std::to_string(index++)] =
          ops::cast(variable.value().to("cpu:0"), DType::float64).to_vector<double>();
    all["predictions"] =
        ops::cast(model.predict(x_, {.batch_size = 8, .verbose = 0}), DType::float64).to_vector<double>();
    return all;
  };
  const Model one = fresh(ways()[0], 1);
  train(one, 0, 2);
  const Outcome expected = weights_and_predictions(one);
  for (const Way& saver : ways()) {
    const Model saved = fresh(saver, 1);
    train(saved, 0, 2);
    for (const char* suffix : {".safetensors", ".npz"}) {
      const std::string file = folder.file(saver.name + suffix);
      saved.save_weights(file);
      for (const Way& loader : ways()) {
        SCOPED_TRACE("saved under " + saver.name + ", loaded under " + loader.name + ": " + suffix);
        const Model loaded = fresh(loader, 99);
        EXPECT_TRUE(loaded.load_weights(file).complete());
        expect_same(weights_and_predictions(loaded), expected);
      }
    }
  }
}

}  // namespace
}  // namespace nyala::save_load_pairs_test
