// fit goes on where one of its processes is killed: the weights, the history and what is trained afterwards are
// those of a training that nobody disturbed.
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include <gmock/gmock.h>

#include <nyala/nyala.h>
#include <nyala/tests/conformance/strategies/killed_processes.h>
#include <nyala/tests/conformance/strategies/training_support.h>

namespace nyala {

namespace {

using ::testing::HasSubstr;

constexpr int64_t kRows = 44, kBatch = 8, kBatches = 6;
constexpr int kEpochs = 3;

Tensor inputs() { return wave({kRows, 5}, 0.37); }

Tensor labels() {
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < kRows; ++i) labels.push_back(i % 3);
  return Tensor::from(labels);
}

Model classifier() {
  Sequential model({Input({5}), Dense(6, {.activation = "tanh"}), BatchNormalization(), Dropout(0.25),
                    Dense(3, {.activation = "softmax"})});
  model.compile({.optimizer = Adam(0.01), .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
  return model;
}

template <class Make>
auto in_scope(const Strategy& strategy, Make&& make) {
  clear_session();
  set_random_seed(11);
  return strategy.scope(make);
}

/// The bits of all numbers that training gave.
std::string bits_of(const Model& model, const History& history) {
  std::string text;
  for (const Tensor& weight : model.get_weights())
    for (const float number : numbers(weight)) text.append(reinterpret_cast<const char*>(&number), sizeof number);
  for (const auto& [name, values] : history) {
    text += name;
    for (const double value : values) text.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return text;
}

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

  Model model() const {
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
      made.compile({.optimizer = RMSprop(0.01), .loss = "sparse_categorical_crossentropy", .steps_per_execution = 3});
    return made;
  }
  History fit(const Model& model, FitConfig config) const {
    if (name == "own_steps") return model.fit(inputs(), wave({kRows, 2}, 0.9), config);
    config.validation_data = {inputs().rows(0, 20), labels().rows(0, 20)};
    if (name != "dataset") return model.fit(inputs(), labels(), config);
    config.batch_size = 0;
    config.steps_per_epoch = 5;
    const Dataset rows = Dataset::from_tensor_slices(inputs(), labels()).shuffle(20, {.seed = 4});
    return model.fit(rows.map([](Element row, DrawStream& draws) {
                           row.x[0] = row.x[0] * (1.0 + 0.1 * draws.uniform());
                           return row;
                         }).batch(kBatch),
                     config);
  }
};

class RecoveryOverProcesses : public ::testing::TestWithParam<Way> {
 protected:
  static void train(const Kill& kill) {
    const Self self;
    const MultiWorkerMirroredStrategy several = strategy_of(self);
    const Model model = in_scope(several, [] { return GetParam().model(); });
    const History history = GetParam().fit(
        model, {.batch_size = kBatch, .epochs = kEpochs, .verbose = 0, .callbacks = {killer(self, kill)}});
    EXPECT_EQ(history.epoch(), (std::vector<int>{0, 1, 2}));
    if (self.is_first()) {
      EXPECT_THAT(several.describe(), HasSubstr("fit keeps its state in memory every "));
    }
    self.notes.write("final-" + std::to_string(self.slot), bits_of(model, history));
    model.predict(inputs(), {.verbose = 0});  // all go on together
  }
  static bool is_undisturbed() { return ::getenv("NYALA_TEST_UNDISTURBED") != nullptr; }
};

TEST_P(RecoveryOverProcesses, AKilledProcessThatIsStartedAgainChangesNoBit) {
  if (RankProcesses::rank()) return train(is_undisturbed() ? Kill() : GetParam().kill);
  Job undisturbed, disturbed;
  ::setenv("NYALA_TEST_UNDISTURBED", "1", 1);
  undisturbed.run();
  ::unsetenv("NYALA_TEST_UNDISTURBED");
  disturbed.run();
  EXPECT_EQ(undisturbed.kills, 0);
  EXPECT_EQ(disturbed.kills, 1);
  for (int slot = 0; slot < 3; ++slot) {
    EXPECT_EQ(disturbed.ends[slot].code, 0) << slot << ": " << disturbed.ends[slot].output;
    EXPECT_FALSE(disturbed.finals[slot].empty());
    EXPECT_EQ(disturbed.finals[slot], undisturbed.finals[0]) << slot << ": " << disturbed.ends[slot].output;
  }
}

INSTANTIATE_TEST_SUITE_P(
    At, RecoveryOverProcesses,
    ::testing::Values(Way{"at_the_end_of_a_batch", {"batch_end", 2, 3}}, Way{"before_a_batch", {"batch_begin", 0, 10}},
                      Way{"in_a_validation", {"test_batch_end", 1, 2}}, Way{"at_the_end", {"epoch_end", 2, 3}},
                      Way{"before_an_epoch", {"epoch_begin", 0, 2}}, Way{"own_steps", {"batch_end", 0, 8}},
                      Way{"accumulating", {"batch_end", 1, 10}}, Way{"three_at_once", {"batch_end", 0, 4}},
                      Way{"dataset", {"batch_end", 2, 8}}),
    [](const auto& instance) { return instance.param.name; });

/// Writes down what `body` throws, in a note of this process.
template <class Body>
void note_error_of(const Self& self, Body&& body) {
  try {
    body();
    self.notes.write("final-" + std::to_string(self.slot), "no error");
  } catch (const Error& error) {
    self.notes.write("final-" + std::to_string(self.slot), error.what());
  }
}

using RecoveryOfProcesses = ::testing::Test;

Model trained_on_one_device(const FitConfig& fit) {
  const Model model = in_scope(OneDeviceStrategy("cpu:0"), classifier);
  model.fit(inputs(), labels(), fit);
  return model;
}

void expect_weights_of_one_device(const Model& model, const FitConfig& fit) {
  const Tensors received = model.get_weights(), expected = trained_on_one_device(fit).get_weights();
  ASSERT_EQ(received.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) expect_numbers(received[i], numbers(expected[i]), 2e-5f);
}

void expect_all_ended_well(const Job& job) {
  for (const auto& [slot, end] : job.ends) EXPECT_EQ(end.code, 0) << slot << ": " << end.output;
}

// Three, then two, then three again: the third comes back when the others wait for it in a hook.
TEST(RecoveryOfProcesses, FewerGoOnAndMoreTakeOver) {
  if (RankProcesses::rank()) {
    const Self self;
    const MultiWorkerMirroredStrategy several = strategy_of(self);
    const Model model = in_scope(several, classifier);
    const FitConfig fit{.batch_size = kBatch, .epochs = kEpochs, .verbose = 0};
    FitConfig watched = fit;
    int batches = 0;
    std::set<int> sizes;
    watched.callbacks = {killer(self, {"batch_end", 2, 4}),
                         LambdaCallback({.on_train_batch_end = [&](int64_t, Logs&) {
                           sizes.insert(several.num_processes());
                           if (++batches == 10 && self.slot == 0) self.notes.write("come-back", "");
                           for (int i = 0; batches >= 12 && i < 20'000 && !self.notes.has("wants-2.1"); ++i)
                             std::this_thread::sleep_for(std::chrono::milliseconds(1));
                         }})};
    model.fit(inputs(), labels(), watched);
    expect_weights_of_one_device(model, fit);
    EXPECT_EQ(sizes, self.slot == 2 ? std::set<int>{3} : (std::set<int>{2, 3}));
    EXPECT_EQ(several.num_processes(), 3);
    return;
  }
  Job job{.restarts = false};
  bool back = false;
  job.meanwhile = [&](RankProcesses& processes, FileGroupKeeper& keeper) {
    if (back || !keeper.notes().has("come-back")) return;
    back = true;
    keeper.notes().write("times-2", "1");
    processes.start(2);
    job.members[2] = "2.1";
    keeper.begin({"0.0", "1.0", "2.1"});
  };
  job.run();
  EXPECT_TRUE(back);
  EXPECT_EQ(job.kills, 1);
  expect_all_ended_well(job);
}

// A frozen process is given up, and has an old copy when it wakes.
TEST(RecoveryOfProcesses, AFrozenOneIsTakenInWhenItWakes) {
  if (RankProcesses::rank()) {
    const Self self;
    const MultiWorkerMirroredStrategy several = strategy_of(self);
    const Model model = in_scope(several, classifier);
    const FitConfig fit{.batch_size = kBatch, .epochs = kEpochs, .verbose = 0};
    FitConfig watched = fit;
    int batches = 0;
    bool thawed = false;
    const auto wait_until = [](const auto& is_so) {
      for (int i = 0; i < 20'000 && !is_so(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    };
    watched.callbacks = {LambdaCallback({.on_train_batch_end = [&](int64_t, Logs&) {
      if (self.slot != 0) return;
      if (++batches == 4) {
        self.notes.write("freeze", "");
        wait_until([&] { return self.notes.has("frozen"); });
      }
      if (several.num_processes() != 2 || std::exchange(thawed, true)) return;
      self.notes.write("thaw", "");
      wait_until([&] { return self.notes.read("wants-1.0") == "1"; });  // it has given its generation up
    }})};
    model.fit(inputs(), labels(), watched);
    expect_weights_of_one_device(model, fit);
    EXPECT_EQ(several.num_processes(), 3);
    return;
  }
  Job job;
  int seen = 0;
  job.meanwhile = [&](RankProcesses& processes, FileGroupKeeper& keeper) {
    if (seen == 0 && keeper.notes().has("freeze")) {
      seen = 1;
      processes.send(1, SIGSTOP);
      keeper.notes().write("frozen", "");
      keeper.begin({"0.0", "2.0"});
    } else if (seen == 1 && keeper.notes().has("thaw")) {
      seen = 2;
      processes.send(1, SIGCONT);
      keeper.begin({"0.0", "1.0", "2.0"});
    }
  };
  job.run();
  EXPECT_EQ(seen, 2);
  expect_all_ended_well(job);
}

TEST(RecoveryOfProcesses, TheLastOneEndsTheTraining) {
  if (RankProcesses::rank()) {
    const Self self;
    const MultiWorkerMirroredStrategy several = strategy_of(self, 2);
    const Model model = in_scope(several, classifier);
    const FitConfig fit{.batch_size = kBatch, .epochs = kEpochs, .verbose = 0};
    FitConfig watched = fit;
    watched.callbacks = {killer(self, {"batch_end", 0, 5}), killer(self, {"batch_end", 2, 9})};
    model.fit(inputs(), labels(), watched);
    expect_weights_of_one_device(model, fit);
    EXPECT_EQ(several.num_processes(), 1);
    EXPECT_EQ(several.num_replicas_in_sync(), 2);
    return;
  }
  Job job{.restarts = false};
  job.run();
  EXPECT_EQ(job.kills, 2);
  EXPECT_EQ(job.ends[1].code, 0) << job.ends[1].output;
}

TEST(RecoveryOfProcesses, AnErrorOfTheProgramEndsFitEverywhere) {
  if (RankProcesses::rank()) {
    const Self self;
    const MultiWorkerMirroredStrategy several = strategy_of(self);
    const Model model = in_scope(several, classifier);
    Tensor wrong = labels().clone();
    wrong.rows(kBatch - 1, 1).copy_from(Tensor::from(std::vector<int64_t>{12}));
    note_error_of(self, [&] { model.fit(inputs(), wrong, {.batch_size = kBatch, .verbose = 0, .shuffle = false}); });
    return;
  }
  Job job;
  job.run();
  for (const auto& [slot, text] : job.finals) EXPECT_THAT(text, HasSubstr(slot == 2 ? "label 12" : "out of range")) << slot;
}

TEST(RecoveryOfProcesses, AnErrorOfACallbackReachesTheOthersWithItsText) {
  if (RankProcesses::rank()) {
    const Self self;
    const auto several = std::make_unique<MultiWorkerMirroredStrategy>(strategy_of(self));
    note_error_of(self, [&] {
      const Model model = in_scope(*several, classifier);
      int batches = 0;
      LambdaCallback throws({.on_train_batch_end = [&](int64_t, Logs&) {
        if (++batches == 3 && self.slot == 1) throw StateError("of the callback");
      }});
      model.fit(inputs(), labels(), {.batch_size = kBatch, .verbose = 0, .callbacks = {throws}});
    });
    return;
  }
  Job job;
  job.run();
  for (const auto& [slot, text] : job.finals) EXPECT_THAT(text, HasSubstr("of the callback")) << slot;
}

TEST(RecoveryOfProcesses, WhoIsStartedAgainPassesOverTheFitsThatAreDone) {
  if (RankProcesses::rank()) {
    const Self self;
    const MultiWorkerMirroredStrategy several = strategy_of(self);
    const Model model = in_scope(several, classifier);
    const FitConfig fit{.batch_size = kBatch, .epochs = 2, .verbose = 0};
    FitConfig killing = fit;
    killing.callbacks = {killer(self, {"batch_end", 1, 5})};
    const History first = model.fit(inputs(), labels(), fit);
    EXPECT_EQ(first.epoch().size(), self.is_first() ? 2u : 0u);
    const History second = model.fit(inputs(), labels(), killing);
    EXPECT_EQ(second.epoch().size(), 2u);
    self.notes.write("final-" + std::to_string(self.slot), bits_of(model, second));
    return;
  }
  Job job;
  job.run();
  expect_all_ended_well(job);
  EXPECT_EQ(job.kills, 1);
  EXPECT_FALSE(job.finals[0].empty());
  for (const auto& [slot, bits] : job.finals) EXPECT_EQ(bits, job.finals[0]) << slot;
}

TEST(RecoveryOfProcesses, EvaluateAndPredictEndWithATypedError) {
  if (RankProcesses::rank()) {
    const Self self;
    const MultiWorkerMirroredStrategy several = strategy_of(self);
    const Model model = in_scope(several, classifier);
    const std::vector<CallbackArgument> killing{killer(self, {"test_batch_end", 1, 3})};
    EXPECT_THROW(model.evaluate(inputs(), labels(), {.batch_size = kBatch, .verbose = 0, .callbacks = killing}),
                 CommunicationError);
    EXPECT_THROW(model.predict(inputs(), {.batch_size = kBatch, .verbose = 0}), CommunicationError);
    return;
  }
  Job job{.restarts = false};
  job.run();
  EXPECT_EQ(job.kills, 1);
  for (const int slot : {0, 2}) EXPECT_EQ(job.ends[slot].code, 0) << job.ends[slot].output;
}

// All are killed; the job that is started then has two processes in place of three.
TEST(RecoveryOfProcesses, AWholeJobGoesOnFromItsBackupWithAnotherNumberOfProcesses) {
  const char *const kBackup = "NYALA_TEST_BACKUP", *const kSecond = "NYALA_TEST_SECOND";
  if (RankProcesses::rank()) {
    const Self self;
    const MultiWorkerMirroredStrategy several = strategy_of(self);
    const Model model = in_scope(several, classifier);
    const bool is_second = ::getenv(kSecond) != nullptr;
    const FitConfig fit{.batch_size = kBatch, .epochs = kEpochs, .verbose = 0};
    FitConfig backed_up = fit;
    int batches = 0;
    backed_up.callbacks = {BackupAndRestore(::getenv(kBackup), {.save_freq = 2}),
                           killer(self, {"batch_end", is_second ? -1 : self.slot, 9}),
                           LambdaCallback({.on_train_batch_end = [&](int64_t, Logs&) { ++batches; }})};
    model.fit(inputs(), labels(), backed_up);
    EXPECT_EQ(batches, kEpochs * kBatches - 8);
    expect_weights_of_one_device(model, fit);
    return;
  }
  const std::string folder = ::testing::TempDir() + "nyala-backup-" + std::to_string(::getpid());
  ::setenv(kBackup, folder.c_str(), 1);
  Job first{.restarts = false}, second{.size = 2};
  first.run();
  EXPECT_EQ(first.kills, 3);
  EXPECT_TRUE(std::filesystem::exists(folder + "/latest.weights.h5"));
  ::setenv(kSecond, "1", 1);
  second.run();
  ::unsetenv(kSecond);
  expect_all_ended_well(second);
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(RecoveryOfProcesses, AnotherProgramIsAnErrorEverywhere) {
  if (RankProcesses::rank()) {
    const Self self;
    const MultiWorkerMirroredStrategy several = strategy_of(self);
    note_error_of(self, [&] {
      const Model model = in_scope(several, [&] {
        Sequential made({Input({5}), Dense(self.is_first() ? 4 : 7), Dense(3)});
        made.compile({.optimizer = SGD(0.1), .loss = "mse"});
        return made;
      });
      model.fit(inputs(), wave({kRows, 3}, 0.2),
                {.batch_size = kBatch, .epochs = 2, .verbose = 0, .callbacks = {killer(self, {"batch_end", 1, 5})}});
    });
    return;
  }
  Job job;
  job.run();
  for (const auto& [slot, text] : job.finals)
    EXPECT_THAT(text, HasSubstr("their models have other variables")) << slot;
}

TEST(RecoveryOfProcesses, WhatFailsAgainAndAgainIsAnError) {
  if (RankProcesses::rank()) {
    const Self self;
    const MultiWorkerMirroredStrategy several = strategy_of(self);
    const Model model = in_scope(several, classifier);
    const int64_t rows = self.slot == 0 ? kRows : 11;  // one batch of eight rows, and then another one
    note_error_of(self, [&] {
      model.fit(inputs().rows(0, rows), labels().rows(0, rows),
                {.batch_size = kBatch, .verbose = 0, .shuffle = false});
    });
    return;
  }
  Job job;
  job.run();
  for (const auto& [slot, text] : job.finals) {
    EXPECT_THAT(text, HasSubstr("rank 1 has one of 3 rows")) << slot;
    EXPECT_THAT(text, HasSubstr("no process was lost")) << slot;
  }
}

}  // namespace

}  // namespace nyala
