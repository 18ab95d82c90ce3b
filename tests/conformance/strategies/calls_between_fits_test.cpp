// evaluate, predict and save behind a fit, where a process is killed before or in the middle of them.
#include <filesystem>

#include <gmock/gmock.h>

#include <nyala/tests/conformance/strategies/recovery_training.h>
#include <nyala/tests/support/error_text.h>

namespace nyala::calls_between_fits_test {

namespace {

using namespace recovery;
using ::testing::HasSubstr;

/// Which process is killed, and where: in a hook, or before the call of that name.
struct Moment {
  std::string name;
  Kill kill = {};
  std::string before = {};
  int slot = -1;
};

void append(std::string& bits, const void* data, size_t size) {
  bits.append(static_cast<const char*>(data), size);
}

Model loaded(const std::function<void(const Model&)>& load) {
  const Model model = in_scope(OneDeviceStrategy("cpu:0"), classifier);
  load(model);
  return model;
}

/// What a program does between two fits, and the bits of all that it gave.
class Calls {
 public:
  Calls(const Self& self, const Moment& moment)
      : self_(self),
        moment_(moment),
        several_(strategy_of(self)),
        model_(in_scope(several_, classifier)),
        killing_(killer(self, is_undisturbed() ? Kill() : moment.kill)) {}

  void fit() {
    model_.fit(inputs(), labels(),
               {.batch_size = recovery::kBatch, .epochs = 2, .verbose = 0, .callbacks = {killing_}});
  }
  std::string evaluate() {
    at("evaluate");
    const Logs logs = model_.evaluate(
        inputs(), labels(), {.batch_size = recovery::kBatch, .verbose = 0, .callbacks = {killing_}});
    std::string bits;
    for (const auto& [name, value] : logs) append(bits += name, &value, sizeof value);
    EXPECT_THAT(bits, HasSubstr("accuracy"));
    return bits;
  }
  std::string predict() {
    at("predict");
    const Tensor out =
        model_.predict(inputs(), {.batch_size = recovery::kBatch, .verbose = 0, .callbacks = {killing_}});
    EXPECT_EQ(out.shape(), (Shape{recovery::kRows, 3}));
    std::string bits;
    for (const float number : numbers(out)) append(bits, &number, sizeof number);
    return bits;
  }
  /// By rank 0, whichever process that is by then.
  void save(const std::string& name) {
    const Files files(name);
    at("save_weights");
    model_.save_weights(files.weights);
    at("save");
    model_.save(files.model);
    at("checkpoint");
    Checkpoint(model_).save(files.checkpoint, {.epoch = 1, .batch = 2});
  }
  /// What these files hold, which is the same.
  static std::string saved(const std::string& name) {
    const Files files(name);
    const auto bits_in = [](const Model& model) { return bits_of(model, History()); };
    const std::string bits = bits_in(loaded([&](const Model& one) { one.load_weights(files.weights); }));
    EXPECT_EQ(bits_in(in_scope(OneDeviceStrategy("cpu:0"), [&] { return load_model(files.model); })), bits);
    EXPECT_EQ(bits_in(loaded([&](const Model& one) { Checkpoint(one).restore(files.checkpoint); })), bits);
    return bits;
  }
  int num_processes() const { return several_.num_processes(); }
  const Model& model() const { return model_; }

 private:
  struct Files {
    explicit Files(const std::string& name) : begin(RankProcesses::folder() + "/" + name) {}
    std::string begin, weights = begin + ".weights.h5", model = begin + ".keras",
                       checkpoint = begin + "-checkpoint.weights.h5";
  };

  void at(const std::string& call) const {
    if (is_undisturbed() || !self_.is_first()) return;
    if (self_.slot == moment_.slot && call == moment_.before) ::kill(::getpid(), SIGKILL);
  }

  const Self& self_;
  const Moment& moment_;
  MultiWorkerMirroredStrategy several_;
  Model model_;
  CallbackArgument killing_;
};

std::string name_of_moment(const ::testing::TestParamInfo<Moment>& instance) { return instance.param.name; }

class FewerMakeTheCall : public ::testing::TestWithParam<Moment> {};

TEST_P(FewerMakeTheCall, WithTheNumbersOfOneDevice) {
  if (RankProcesses::rank()) {
    const Self self;
    Calls calls(self, GetParam());
    calls.fit();
    calls.save("first");
    const Logs logs =
        calls.model().evaluate(inputs(), labels(), {.batch_size = recovery::kBatch, .verbose = 0});
    const std::string bits = calls.evaluate() + calls.predict();
    const Model alone = loaded([&](const Model& one) { one.set_weights(calls.model().get_weights()); });
    for (const auto& [name, value] :
         alone.evaluate(inputs(), labels(), {.batch_size = recovery::kBatch, .verbose = 0}))
      EXPECT_NEAR(logs[name], value, 2e-6) << name;
    expect_numbers(calls.model().predict(inputs(), {.verbose = 0}),
                   numbers(alone.predict(inputs(), {.verbose = 0})), 2e-6f);
    EXPECT_EQ(calls.saved("first"), bits_of(calls.model(), History()));
    calls.fit();
    EXPECT_EQ(calls.num_processes(), 2);
    self.notes.write("final-" + std::to_string(self.slot), bits + bits_of(calls.model(), History()));
    return;
  }
  Job job{.restarts = false};
  job.run();
  EXPECT_EQ(job.kills, 1);
  std::vector<int> left;
  for (const auto& [slot, end] : job.ends)
    if (end.signal != SIGKILL) left.push_back(slot);
  ASSERT_EQ(left.size(), 2u);
  expect_ended_well(job, left);
  expect_same_finals(job, left);
}

INSTANTIATE_TEST_SUITE_P(Killed, FewerMakeTheCall,
                         ::testing::Values(Moment{"in_evaluate", {"test_batch_end", 1, 3}},
                                           Moment{"in_evaluate_the_first_one", {"test_batch_end", 0, 2}},
                                           Moment{"at_the_beginning_of_evaluate", {"test_begin", 2, 1}},
                                           Moment{"in_predict", {"predict_batch_end", 2, 3}},
                                           Moment{"in_predict_the_first_one", {"predict_batch_end", 0, 6}},
                                           Moment{"before_evaluate", {}, "evaluate", 0},
                                           Moment{"before_predict", {}, "predict", 1},
                                           Moment{"before_save", {}, "save", 0},
                                           Moment{"before_save_of_another", {}, "save", 2},
                                           Moment{"before_save_weights", {}, "save_weights", 0},
                                           Moment{"before_a_checkpoint", {}, "checkpoint", 0}),
                         name_of_moment);

// Who is started again begins the call with the others, or has what they got from it.
class StartedAgainForACall : public ::testing::TestWithParam<Moment> {};

TEST_P(StartedAgainForACall, NoBitChanges) {
  if (RankProcesses::rank()) {
    const Self self;
    Calls calls(self, GetParam());
    calls.fit();
    std::string bits = calls.evaluate();
    calls.save("first");
    bits += calls.evaluate();
    calls.fit();
    calls.save("second");
    bits += calls.predict() + calls.saved("first") + calls.saved("second");
    self.notes.write("final-" + std::to_string(self.slot), bits + bits_of(calls.model(), History()));
    return;
  }
  expect_no_bit_changes(1);
}

INSTANTIATE_TEST_SUITE_P(Killed, StartedAgainForACall,
                         ::testing::Values(Moment{"in_evaluate", {"test_batch_end", 1, 3}},
                                           Moment{"in_evaluate_the_first_one", {"test_batch_end", 0, 3}},
                                           Moment{"in_the_second_evaluate", {"test_batch_end", 2, 9}},
                                           Moment{"before_save", {}, "save", 0},
                                           Moment{"before_a_checkpoint", {}, "checkpoint", 1},
                                           Moment{"in_the_second_fit", {"batch_end", 0, 15}},
                                           Moment{"in_predict", {"predict_batch_end", 0, 2}},
                                           Moment{"in_predict_another", {"predict_batch_end", 1, 6}}),
                         name_of_moment);

// The model is built by the evaluation, and no fit has been.
TEST(CallsBetweenFits, AModelThatIsNotBuiltComesFromTheOthers) {
  if (RankProcesses::rank()) {
    const Self self;
    const MultiWorkerMirroredStrategy several = strategy_of(self);
    const Model model = in_scope(several, [] {
      Sequential made({Dense(4, {.activation = "tanh"}), Dense(3)});
      made.compile({.optimizer = SGD(0.1), .loss = "mse"});
      return made;
    });
    const std::vector<CallbackArgument> killing{killer(self, {"test_batch_end", 1, 2})};
    const Logs logs = model.evaluate(inputs(), wave({recovery::kRows, 3}, 0.2),
                                     {.batch_size = recovery::kBatch, .verbose = 0, .callbacks = killing});
    self.notes.write("final-" + std::to_string(self.slot),
                     bits_of(model, History()) + std::to_string(logs["loss"]));
    return;
  }
  Job job;
  job.run();
  EXPECT_EQ(job.kills, 1);
  expect_ended_well(job);
  expect_same_finals(job);
}

// Without compile(), too.
TEST(CallsBetweenFits, AModelThatIsNotCompiledPredicts) {
  if (RankProcesses::rank()) {
    const Self self;
    const MultiWorkerMirroredStrategy several = strategy_of(self);
    const Model model = in_scope(several, [] { return Sequential({Dense(4), Dense(3)}); });
    const std::vector<CallbackArgument> killing{killer(self, {"predict_batch_end", 0, 2})};
    const Tensor out =
        model.predict(inputs(), {.batch_size = recovery::kBatch, .verbose = 0, .callbacks = killing});
    std::string bits;
    for (const float number : numbers(out)) append(bits, &number, sizeof number);
    self.notes.write("final-" + std::to_string(self.slot), bits);
    return;
  }
  Job job;
  job.run();
  EXPECT_EQ(job.kills, 1);
  expect_ended_well(job);
  expect_same_finals(job);
}

/// Counts the rows that it saw in training.
struct CountsRows : LayerNode {
  Variable rows = track("rows", Variable(0.0, {.trainable = false,
                                               .aggregation = Aggregation::sum,
                                               .synchronization = Synchronization::on_read}));
  std::string class_name() const override { return "CountsRows"; }
  Tensor call(Call& c, const Tensor& x) const override {
    if (c.training()) c.assign(rows, c[rows] + static_cast<double>(x.shape()[0]));
    return x;
  }
};

// No process has the sum alone: all bring theirs before anything changes.
class SumsOverReplicas : public ::testing::TestWithParam<Moment> {};

TEST_P(SumsOverReplicas, NoBitChanges) {
  if (RankProcesses::rank()) {
    const Self self;
    const MultiWorkerMirroredStrategy several = strategy_of(self);
    const Model model = in_scope(several, [] {
      const Sequential made({Input({5}), make_layer<CountsRows>(), Dense(3, {.activation = "softmax"})});
      made.compile({.optimizer = Adam(0.01), .loss = "sparse_categorical_crossentropy"});
      return made;
    });
    const std::vector<CallbackArgument> killing{killer(self, is_undisturbed() ? Kill() : GetParam().kill)};
    model.fit(inputs(), labels(),
              {.batch_size = recovery::kBatch, .epochs = 2, .verbose = 0, .callbacks = killing});
    const Logs logs = model.evaluate(
        inputs(), labels(), {.batch_size = recovery::kBatch, .verbose = 0, .callbacks = killing});
    const double loss = logs["loss"];
    std::string bits = bits_of(model, History());
    append(bits, &loss, sizeof loss);
    EXPECT_EQ(model.get_layer(0).weights()[0].value().item(), 2 * recovery::kRows);
    self.notes.write("final-" + std::to_string(self.slot), bits);
    return;
  }
  expect_no_bit_changes(1);
}

INSTANTIATE_TEST_SUITE_P(Killed, SumsOverReplicas,
                         ::testing::Values(Moment{"before_the_first_step", {"epoch_begin", 0, 1}},
                                           Moment{"in_the_first_step", {"batch_begin", 2, 1}},
                                           Moment{"in_fit", {"batch_end", 1, 8}},
                                           Moment{"in_evaluate", {"test_batch_end", 0, 3}}),
                         name_of_moment);

TEST(CallsBetweenFits, WhatPredictGaveTheOthersIsKept) {
  if (RankProcesses::rank()) {
    const Self self;
    const MultiWorkerMirroredStrategy several = strategy_of(self);
    const Model model = in_scope(several, classifier);
    const FitConfig fit{.batch_size = recovery::kBatch, .epochs = 2, .verbose = 0};
    FitConfig killing = fit;
    killing.callbacks = {killer(self, {"batch_end", 1, 5})};
    model.fit(inputs(), labels(), fit);
    const Tensor out = model.predict(inputs(), {.batch_size = recovery::kBatch, .verbose = 0});
    EXPECT_EQ(out.shape(), (Shape{recovery::kRows, 3}));
    std::string bits;
    for (const float number : numbers(out)) append(bits, &number, sizeof number);
    // More than 64 MB.
    const Model wide = in_scope(several, [] { return Sequential({Input({1}), Dense(1 << 16)}); });
    const Tensor rows = Tensor::ones({300, 1});
    if (self.is_first()) {
      EXPECT_EQ(wide.predict(rows, {.batch_size = 100, .verbose = 0}).shape(), (Shape{300, 1 << 16}));
    } else {
      EXPECT_THAT(error_text<StateError>([&] { wide.predict(rows, {.batch_size = 100, .verbose = 0}); }),
                  HasSubstr("predict: the others made this call before this process was started again"));
    }
    const History history = model.fit(inputs(), labels(), killing);
    self.notes.write("final-" + std::to_string(self.slot), bits + bits_of(model, history));
    return;
  }
  Job job;
  job.run();
  EXPECT_EQ(job.kills, 1);
  expect_ended_well(job);
  expect_same_finals(job);
}

// An error that the replica of one process has alone: the others do not wait for another generation.
TEST(CallsBetweenFits, AnErrorOfALayerEndsTheCallEverywhere) {
  if (RankProcesses::rank()) {
    const Self self;
    const auto several = std::make_unique<MultiWorkerMirroredStrategy>(strategy_of(self));
    const Lambda throws([&self](const Tensor& x) {
      if (self.slot == 2 && !x.is_abstract()) throw StateError("of the layer");
      return x;
    });
    std::string text = "no error";
    try {
      const Model model = in_scope(*several, [&] {
        Sequential made({Input({5}), throws, Dense(3), BatchNormalization()});
        made.compile({.optimizer = SGD(0.1), .loss = "mse"});
        return made;
      });
      model.evaluate(inputs(), wave({recovery::kRows, 3}, 0.2),
                     {.batch_size = recovery::kBatch, .verbose = 0});
    } catch (const Error& error) {
      text = error.what();
    }
    self.notes.write("final-" + std::to_string(self.slot), text);
    return;
  }
  Job job;
  job.run();
  for (const auto& [slot, text] : job.finals) EXPECT_THAT(text, HasSubstr("of the layer")) << slot;
}

// Nobody starts anything again, and nobody said that fewer go on.
TEST(CallsBetweenFits, WithoutAnotherGenerationTheyEndWithTheirError) {
  if (RankProcesses::rank()) {
    const Self self;
    FileRendezvous rendezvous(self.notes.folder());
    const MultiWorkerMirroredStrategy several(processes_on_one_host(
        {.rank = self.slot, .size = 3, .timeout = std::chrono::seconds(60)}, rendezvous));
    const Model model = in_scope(several, classifier);
    const std::vector<CallbackArgument> killing{killer(self, {"test_batch_end", 1, 3})};
    const auto evaluate = [&] {
      model.evaluate(inputs(), labels(),
                     {.batch_size = recovery::kBatch, .verbose = 0, .callbacks = killing});
    };
    EXPECT_THROW(evaluate(), PeerLostError);
    EXPECT_THROW(model.predict(inputs(), {.batch_size = recovery::kBatch, .verbose = 0}), CommunicationError);
    EXPECT_THROW(model.save_weights(RankProcesses::folder() + "/no.weights.h5"), CommunicationError);
    return;
  }
  Job job{.restarts = false};
  job.run();
  EXPECT_EQ(job.kills, 1);
  expect_ended_well(job, {0, 2});
}

}  // namespace

}  // namespace nyala::calls_between_fits_test
