// fit goes on where one of its processes is killed: the weights, the history and what is trained afterwards are
// those of a training that nobody disturbed.
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <set>

#include <gmock/gmock.h>

#include <nyala/nyala.h>
#include <nyala/tests/conformance/strategies/file_process_group.h>
#include <nyala/tests/conformance/strategies/training_support.h>
#include <nyala/tests/support/rank_processes.h>

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

/// This process: the place that it has among those that the test started, and how many were there before.
struct Self {
  int slot = *RankProcesses::rank();
  Notes notes{RankProcesses::folder() + "/group"};
  std::string times = notes.read("times-" + std::to_string(slot));
  bool is_first() const { return times.empty(); }
  std::string name() const { return std::to_string(slot) + "." + (is_first() ? "0" : times); }
};

MultiWorkerMirroredStrategy strategy_of(const Self& self, int devices = 1) {
  configure_logical_devices("cpu", devices);
  MultiWorkerMirroredStrategy::Config config;
  for (int i = 0; i < devices; ++i) config.devices.push_back("cpu:" + std::to_string(i));
  return MultiWorkerMirroredStrategy(
      std::make_shared<FileProcessGroup>(self.notes.folder(), self.name(), std::chrono::seconds(60)), config);
}

/// Where a process is killed: "batch_end 2 7": in that hook, in the process of that place, the 7th time.
struct Kill {
  std::string hook;
  int slot = -1, time = 0;
};

/// Calls `at(hook)` in every hook.
class EveryHook : public Callback {
 public:
  explicit EveryHook(std::function<void(const std::string&)> at) : at_(std::move(at)) {}
  void on_train_begin(Logs&) override { at_("train_begin"); }
  void on_epoch_begin(int, Logs&) override { at_("epoch_begin"); }
  void on_train_batch_begin(int64_t, Logs&) override { at_("batch_begin"); }
  void on_train_batch_end(int64_t, Logs&) override { at_("batch_end"); }
  void on_test_begin(Logs&) override { at_("test_begin"); }
  void on_test_batch_end(int64_t, Logs&) override { at_("test_batch_end"); }
  void on_epoch_end(int, Logs&) override { at_("epoch_end"); }

 private:
  std::function<void(const std::string&)> at_;
};

EveryHook killer(const Self& self, const Kill& kill) {
  return EveryHook([self, kill, times = 0](const std::string& hook) mutable {
    if (self.is_first() && self.slot == kill.slot && hook == kill.hook && ++times == kill.time)
      ::kill(::getpid(), SIGKILL);
  });
}

/// The test that runs, in processes that are started again where they are killed, as long as `restarts`.
struct Job {
  int size = 3;
  bool restarts = true;
  std::function<void(RankProcesses&, FileGroupKeeper&)> meanwhile = {};
  std::map<int, std::string> members = {};      // by place
  std::map<int, RankProcesses::End> ends = {};
  std::map<int, std::string> finals = {};       // what each left as "final-<place>"
  int kills = 0;

  void run() {
    RankProcesses processes(size);
    FileGroupKeeper keeper(RankProcesses::folder() + "/group");
    for (int slot = 0; slot < size; ++slot) members[slot] = std::to_string(slot) + ".0";
    const auto begin = [&] {
      std::vector<std::string> names;
      for (const auto& [slot, name] : members) names.push_back(name);
      keeper.begin(names);
    };
    begin();
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(4);
    while (!members.empty() && std::chrono::steady_clock::now() < deadline) {
      for (int slot = 0; slot < size; ++slot) {
        const auto end = processes.ended(slot);
        if (!end) continue;
        members.erase(slot);
        ends[slot] = *end;
        if (end->signal == SIGKILL) {
          ++kills;
          if (restarts) {
            const std::string times = std::to_string(kills);
            keeper.notes().write("times-" + std::to_string(slot), times);
            members[slot] = std::to_string(slot) + "." + times;
            processes.start(slot);
          }
          begin();
        } else if (!members.empty()) {
          keeper.set_members(names_of(members));
        }
      }
      keeper.look();
      if (meanwhile) meanwhile(processes, keeper);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_TRUE(members.empty()) << "after four minutes some still run";
    for (int slot = 0; slot < size; ++slot)
      finals[slot] = keeper.notes().read("final-" + std::to_string(slot));
  }
  static std::vector<std::string> names_of(const std::map<int, std::string>& members) {
    std::vector<std::string> names;
    for (const auto& [slot, name] : members) names.push_back(name);
    return names;
  }
};

class RecoveryOverProcesses : public ::testing::TestWithParam<Kill> {
 protected:
  static void train(const Kill& kill, int devices = 1) {
    const Self self;
    const MultiWorkerMirroredStrategy several = strategy_of(self, devices);
    const Model model = in_scope(several, classifier);
    FitConfig fit{.batch_size = kBatch, .epochs = kEpochs, .verbose = 0, .callbacks = {killer(self, kill)}};
    fit.validation_data = {inputs().rows(0, 20), labels().rows(0, 20)};
    const History history = model.fit(inputs(), labels(), fit);
    EXPECT_EQ(history.epoch(), (std::vector<int>{0, 1, 2}));
    if (self.is_first()) {
      EXPECT_THAT(several.describe(), HasSubstr("fit keeps its state in memory every "));
    }
    self.notes.write("final-" + std::to_string(self.slot), bits_of(model, history));
    // All go on together.
    const Logs logs = model.evaluate(inputs(), labels(), {.verbose = 0});
    EXPECT_GT(logs["loss"], 0);
  }
  static bool is_undisturbed() { return ::getenv("NYALA_TEST_UNDISTURBED") != nullptr; }
};

TEST_P(RecoveryOverProcesses, AKilledProcessThatIsStartedAgainChangesNoBit) {
  if (RankProcesses::rank()) return train(is_undisturbed() ? Kill() : GetParam());
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

INSTANTIATE_TEST_SUITE_P(At, RecoveryOverProcesses,
                         ::testing::Values(Kill{"batch_end", 2, 3}, Kill{"batch_begin", 0, 10},
                                           Kill{"test_batch_end", 1, 2}, Kill{"epoch_end", 2, 3},
                                           Kill{"epoch_begin", 0, 2}),
                         [](const auto& instance) {
                           return instance.param.hook + std::to_string(instance.param.slot);
                         });

}  // namespace

}  // namespace nyala
