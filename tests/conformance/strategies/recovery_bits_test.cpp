// fit goes on where one of its processes is killed and started again: weights and history are bit by bit
// those of a training that nobody disturbed.
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>

#include <nyala/tests/conformance/strategies/recovery_training.h>

namespace nyala {

namespace {

using namespace recovery;
using ::testing::HasSubstr;

/// Two optimizers, none of them that of compile(), which are built in the first step; logs and a metric.
struct OwnSteps : ModelNode {
  Dense first = track("first", Dense(4, {.activation = "tanh"})), last = track("last", Dense(2));
  Optimizer fast = track_optimizer("fast", Adam(0.01)),
            slow = track_optimizer("slow", SGD({.learning_rate = 0.05, .momentum = 0.9}));
  Metric tracker = track_metric(metrics::Mean({.name = "own_loss"}));

  Tensor call(Call& c, const Tensor& x) const override { return last(c, first(c, x)); }
  void train_step(ReplicaStep& step, const Batch& batch) override {
    GradientTape tape;
    const Tensor loss = step.compute_loss(batch, {step.forward(batch.x[0])});
    const Variables all = step.trainable_variables();
    const Tensors gradients = tape.gradient(loss, all);
    fast.apply_gradients({gradients[0], gradients[1]}, {all[0], all[1]});
    slow.apply_gradients({gradients[2], gradients[3]}, {all[2], all[3]});
    step.track_loss(tracker, loss);
    step.log("rows", Tensor::full({}, static_cast<double>(step.rows()), DType::float64), ReduceOp::sum);
  }
};

/// How a model is made and trained, by the name of what is special about it.
struct Way {
  std::string name;
  Kill kill;
  std::vector<Kill> more = {};

  bool has_table() const { return name == "table"; }
  bool is_stateful() const { return name == "stateful"; }
  bool knows_best() const { return name == "callbacks_that_know_the_best_epoch"; }
  bool has_memory() const { return name == "callbacks_with_a_memory"; }

  /// What callbacks write, in the folder of all processes.
  std::vector<CallbackArgument> writers(const std::string& folder) const {
    if (!has_memory()) return {};
    return {CSVLogger(folder + "/log.csv"),  // the first epoch is the best one
            ModelCheckpoint(
                folder + "/best.weights.h5",
                {.monitor = "loss", .save_best_only = true, .save_weights_only = true, .mode = "max"})};
  }
  std::string written(const std::string& folder) const {
    std::string text;
    for (const char* name : {"/log.csv", "/best.weights.h5"}) {
      std::ifstream file(folder + name, std::ios::binary);
      text.append(std::istreambuf_iterator<char>(file), {});
    }
    return text;
  }

  /// Of few rows of a table that is large enough for them to travel, some of them twice in a batch.
  Tensor x() const {
    if (is_stateful()) return ops::reshape(inputs(), {kRows, 1, 5}).rows(0, 5 * kBatch);
    if (!has_table()) return inputs();
    std::vector<int64_t> ids;
    for (int64_t i = 0; i < kRows * 4; ++i) ids.push_back(i * i % 23);
    return Tensor::from(ids, {kRows, 4});
  }

  Model model() const {
    if (has_table()) {
      const Sequential made({Input({4}, {.dtype = "int64"}), Embedding(90'000, 3), Flatten(),
                             Dense(3, {.activation = "softmax"})});
      made.compile({.optimizer = Adam(0.01), .loss = "sparse_categorical_crossentropy"});
      return made;
    }
    if (is_stateful()) {
      const Sequential made({Input({1, 5}, {.batch_size = kBatch}), LSTM(4, {.stateful = true}),
                             Dense(3, {.activation = "softmax"})});
      made.compile({.optimizer = Adam(0.01), .loss = "sparse_categorical_crossentropy"});
      return made;
    }
    if (name == "own_steps") {
      const Model made = make_model<OwnSteps>();
      made.compile({.optimizer = SGD(0.1), .loss = "mse"});
      return made;
    }
    const Model made = classifier();
    if (name == "accumulating")
      made.compile({.optimizer = Adam({.learning_rate = 0.01, .gradient_accumulation_steps = 4}),
                    .loss = "sparse_categorical_crossentropy"});
    if (name == "three_at_once")
      made.compile(
          {.optimizer = RMSprop(0.01), .loss = "sparse_categorical_crossentropy", .steps_per_execution = 3});
    return made;
  }
  /// The first epoch is the best one, the rate sinks after the second and the third, which is the last.
  History fit_to_the_best(const Model& model, FitConfig config, const std::string& folder) const {
    EarlyStopping stopping({.monitor = "loss", .min_delta = 10, .patience = 2, .restore_best_weights = true});
    config.callbacks.push_back(
        ReduceLROnPlateau({.monitor = "loss", .factor = 0.5, .patience = 1, .min_delta = 10}));
    config.callbacks.push_back(stopping);
    config.callbacks.push_back(LambdaCallback({.on_train_end = [&](Logs&) {
      EXPECT_EQ(stopping.stopped_epoch(), 2);
      EXPECT_EQ(stopping.best_epoch(), 0);
    }}));
    config.callbacks.push_back(ModelCheckpoint(folder + "/last.weights.h5", {.save_weights_only = true}));
    config.epochs = 7;
    return model.fit(inputs(), labels(), config);
  }
  History fit(const Model& model, FitConfig config) const {
    if (has_memory()) {
      config.callbacks.push_back(
          ReduceLROnPlateau({.monitor = "loss", .factor = 0.1, .patience = 1, .min_delta = 10}));
      config.callbacks.push_back(
          EarlyStopping({.monitor = "loss", .min_delta = 10, .patience = 5, .restore_best_weights = true}));
    }
    if (name == "own_steps") return model.fit(inputs(), wave({kRows, 2}, 0.9), config);
    if (is_stateful()) return model.fit(x(), labels().rows(0, 5 * kBatch), config);
    config.validation_data = {x().rows(0, 20), labels().rows(0, 20)};
    if (name != "dataset") return model.fit(x(), labels(), config);
    config.batch_size = 0;
    config.steps_per_epoch = 5;
    const Dataset rows = Dataset::from_tensor_slices(inputs(), labels()).shuffle(20, {.seed = 4});
    return model.fit(rows.map([](Element row, DrawStream& draws) {
                           row.x[0] = row.x[0] * (1.0 + 0.1 * draws.uniform());
                           return row;
                         })
                         .batch(kBatch),
                     config);
  }
};

class RecoveryOverProcesses : public ::testing::TestWithParam<Way> {
 protected:
  static void train(const Kill& kill) {
    const Self self;
    const MultiWorkerMirroredStrategy several = strategy_of(self);
    const Model model = in_scope(several, [] { return GetParam().model(); });
    std::vector<CallbackArgument> callbacks = GetParam().writers(self.notes.folder());
    callbacks.insert(callbacks.begin(), killer(self, kill));
    if (!is_undisturbed())
      for (const Kill& one : GetParam().more) callbacks.insert(callbacks.begin(), killer(self, one));
    const FitConfig fit{.batch_size = kBatch, .epochs = kEpochs, .verbose = 0, .callbacks = callbacks};
    const History history = GetParam().knows_best()
                                ? GetParam().fit_to_the_best(model, fit, self.notes.folder())
                                : GetParam().fit(model, fit);
    EXPECT_EQ(history.epoch(), (std::vector<int>{0, 1, 2}));
    if (self.is_first()) {
      EXPECT_THAT(several.describe(), HasSubstr("fit keeps its state in memory every "));
    }
    model.predict(GetParam().x(), {.batch_size = kBatch, .verbose = 0});  // all go on together
    self.notes.write("final-" + std::to_string(self.slot),
                     bits_of(model, history) + GetParam().written(self.notes.folder()));
  }
};

TEST_P(RecoveryOverProcesses, AKilledProcessThatIsStartedAgainChangesNoBit) {
  if (RankProcesses::rank()) return train(is_undisturbed() ? Kill() : GetParam().kill);
  expect_no_bit_changes(1 + static_cast<int>(GetParam().more.size()));
}

INSTANTIATE_TEST_SUITE_P(
    At, RecoveryOverProcesses,
    ::testing::Values(Way{"at_the_end_of_a_batch", {"batch_end", 2, 3}},
                      Way{"before_a_batch", {"batch_begin", 0, 10}},
                      Way{"in_a_validation", {"test_batch_end", 1, 2}},
                      Way{"at_the_end", {"epoch_end", 2, 3}}, Way{"before_an_epoch", {"epoch_begin", 0, 2}},
                      Way{"own_steps", {"batch_end", 0, 8}}, Way{"accumulating", {"batch_end", 1, 10}},
                      Way{"three_at_once", {"batch_end", 0, 4}}, Way{"dataset", {"batch_end", 2, 8}},
                      Way{"table", {"batch_end", 1, 9}}, Way{"stateful", {"batch_end", 1, 8}},
                      Way{"callbacks_with_a_memory", {"batch_end", 0, 9}},
                      // Nobody is left who has seen the best epoch; the last one is lost in the hooks.
                      Way{"callbacks_that_know_the_best_epoch",
                          {"batch_end", 0, 9},
                          {{"batch_end", 1, 11}, {"epoch_end", 2, 2}}}),
    [](const auto& instance) { return instance.param.name; });

}  // namespace

}  // namespace nyala
