// A whole model saved under any way to use devices is opened under any other: it is compiled, and training
// goes on with the numbers that one device, not interrupted, has.
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/nyala.h>
#include <nyala/tests/support/scratch_folder.h>
#include <nyala/tests/conformance/strategies/promise_case.h>

namespace nyala::whole_model_pairs_test {
namespace {

struct Way {
  std::string name;
  /// Makes a model, new or from a file, and returns what is trained.
  std::function<Model(const std::function<Model()>& source)> make;
  /// What is saved.
  std::function<Model(const Model&)> saved = [](const Model& model) { return model; };
};

Way in_scope(const std::string& name, const std::function<Strategy()>& strategy) {
  return {name, [=](const std::function<Model()>& source) { return strategy().scope(source); }};
}

Model template_of(const Model& parallel) { return Model(parallel.model_node().template_model()); }

std::vector<Way> ways() {
  const std::vector<std::string> two = {"cpu:0", "cpu:1"}, three = {"cpu:0", "cpu:1", "cpu:2"};
  const auto parallel = [](const std::function<Model()>& source) {
    return multi_gpu_model(source(), {.gpus = 2});
  };
  return {
      in_scope("OneDevice", [] { return OneDeviceStrategy("cpu:0"); }),
      in_scope("Mirrored 2", [=] { return MirroredStrategy({.devices = two}); }),
      in_scope("Mirrored 3 separate",
               [=] { return MirroredStrategy({.devices = three, .shared_weights = SharedWeights::never}); }),
      in_scope("CentralStorage 2",
               [=] { return CentralStorageStrategy({.compute_devices = two, .parameter_device = "cpu:2"}); }),
      {"multi_gpu_model 2", parallel},
      {"template of multi_gpu_model 2", parallel, template_of},
      {"DataParallel 3", [](const std::function<Model()>& source) -> Model {
         return DataParallel(source(), {.device_ids = {0, 1, 2}});
       }}};
}

class WholeModelPairs : public ::testing::Test {
 protected:
  void SetUp() override {
    configure_logical_devices("cpu", 3);
    x_ = random_numbers(1, {43, 6}, DType::float32);
    y_ = random_labels(2, 43, 3);
  }
  void TearDown() override { configure_logical_devices("cpu", 1); }

  Model made(const Way& way, const Optimizer& optimizer) const {
    clear_session();
    set_random_seed(1);
    const Model model = way.make([] {
      return Sequential({Input({6}), Dense(8, {.activation = "relu", .kernel_regularizer = "l2"}),
                         BatchNormalization(), Dropout(0.25, {.seed = 5}), Dense(3)});
    });
    model.compile({.optimizer = optimizer,
                   .loss = SparseCategoricalCrossentropy({.from_logits = true}),
                   .metrics = {"accuracy"}});
    return model;
  }
  static Model opened(const Way& way, const std::string& file) {
    clear_session();
    set_random_seed(99);
    return way.make([&] { return load_model(file); });
  }
  /// Six batches an epoch, the last one of 3 rows.
  void train(const Model& model, int first, int epochs) const {
    model.fit(x_, y_,
              {.batch_size = 8, .epochs = epochs, .verbose = 0, .shuffle = false, .initial_epoch = first});
  }
  Outcome outcome(const Model& model) const {
    Outcome all;
    int index = 0;
    const auto add = [&](const std::string& name, const Tensor& value) {
      all[std::to_string(index++) + " " + name] =
          ops::cast(value.to("cpu:0"), DType::float64).to_vector<double>();
    };
    for (const Variable& variable : model.weights()) add("weight", variable.value());
    for (const OptimizerVariable& variable : model.optimizer().node().variables_for_file())
      add(variable.name, variable.value);
    for (const auto& [name, value] : model.evaluate(x_, y_, {.batch_size = 8, .verbose = 0}))
      all[name] = {value};
    add("predictions", model.predict(x_, {.batch_size = 8, .verbose = 0}));
    return all;
  }
  static void expect_same(const Outcome& received, const Outcome& expected) {
    const Difference difference = difference_of(received, expected, DType::float32);
    EXPECT_LE(difference.allowed, 1.0) << difference.where;
  }

  void check_all_pairs(const std::function<Optimizer()>& optimizer,
                       const std::string& suffix = ".keras") const {
    const ScratchFolder folder("whole_model_pairs");
    const Model uninterrupted = made(ways()[0], optimizer());
    train(uninterrupted, 0, 1);
    const Outcome half = outcome(uninterrupted);
    train(uninterrupted, 1, 3);
    const Outcome expected = outcome(uninterrupted);
    for (const Way& saver : ways()) {
      const std::string file = folder.file(saver.name + suffix);
      const Model model = made(saver, optimizer());
      train(model, 0, 1);
      saver.saved(model).save(file);
      for (const Way& loader : ways()) {
        SCOPED_TRACE("saved under " + saver.name + ", opened under " + loader.name);
        const Model again = opened(loader, file);
        ASSERT_TRUE(again.compiled());
        expect_same(outcome(again), half);
        train(again, 1, 3);
        expect_same(outcome(again), expected);
      }
    }
  }

  Tensor x_, y_;
};

TEST_F(WholeModelPairs, AdamWithClipping) {
  check_all_pairs([] { return Adam({.learning_rate = 0.02, .clipnorm = 0.5}); });
}

TEST_F(WholeModelPairs, LegacyFiles) {
  check_all_pairs([] { return Adam({.learning_rate = 0.02, .clipnorm = 0.5}); }, ".h5");
}

TEST_F(WholeModelPairs, LegacyFilesInTheMiddleOfAnAccumulation) {
  check_all_pairs(
      [] { return SGD({.learning_rate = 0.1, .momentum = 0.9, .gradient_accumulation_steps = 4}); }, ".h5");
}

/// Six steps leave two gradients waiting in the accumulators.
TEST_F(WholeModelPairs, SavedInTheMiddleOfAnAccumulation) {
  check_all_pairs(
      [] { return SGD({.learning_rate = 0.1, .momentum = 0.9, .gradient_accumulation_steps = 4}); });
}

TEST_F(WholeModelPairs, MovingAveragesAndASchedule) {
  check_all_pairs([] {
    const ExponentialDecay decay({.initial_learning_rate = 0.05, .decay_steps = 4, .decay_rate = 0.8});
    return Lamb({.learning_rate = decay, .weight_decay = 0.01, .use_ema = true, .ema_momentum = 0.9});
  });
}

}  // namespace
}  // namespace nyala::whole_model_pairs_test
