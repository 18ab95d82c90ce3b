// fit goes on where its processes are killed, come back or wake up, and ends where the program fails.
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include <gmock/gmock.h>

#include <nyala/tests/conformance/strategies/recovery_training.h>

namespace nyala {

namespace {

using namespace recovery;
using ::testing::HasSubstr;

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
  expect_ended_well(job);
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
      if (several.num_processes() != 2) return;
      if (std::exchange(thawed, true)) {  // training does not end before the next generation begins
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        return;
      }
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
  expect_ended_well(job);
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
  expect_ended_well(job, {1});
}

TEST(RecoveryOfProcesses, AnErrorOfTheProgramEndsFitEverywhere) {
  if (RankProcesses::rank()) {
    const Self self;
    const MultiWorkerMirroredStrategy several = strategy_of(self);
    const Model model = in_scope(several, classifier);
    Tensor wrong = labels().clone();
    wrong.rows(kBatch - 1, 1).copy_from(Tensor::from(std::vector<int64_t>{12}));
    note_error_of(
        self, [&] { model.fit(inputs(), wrong, {.batch_size = kBatch, .verbose = 0, .shuffle = false}); });
    return;
  }
  Job job;
  job.run();
  for (const auto& [slot, text] : job.finals)
    EXPECT_THAT(text, HasSubstr(slot == 2 ? "label 12" : "out of range")) << slot;
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
  expect_ended_well(job);
  EXPECT_EQ(job.kills, 1);
  expect_same_finals(job);
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
  expect_ended_well(second);
  EXPECT_FALSE(std::filesystem::exists(folder));
}

/// One process is lost, and started again with another program: it is told `expected`, and the others go on
/// without it.
void newcomer_is_told(const std::function<Sequential(const Self&)>& make, const char* expected,
                      const std::function<void(FitConfig&)>& change = {}) {
  if (RankProcesses::rank()) {
    const Self self;
    const MultiWorkerMirroredStrategy several = strategy_of(self);
    note_error_of(self, [&] {
      const Model model = in_scope(several, [&] { return make(self); });
      FitConfig fit{
          .batch_size = kBatch, .epochs = 2, .verbose = 0, .callbacks = {killer(self, {"batch_end", 1, 5})}};
      if (change && !self.is_first()) change(fit);
      model.fit(inputs(), wave({kRows, 3}, 0.2), fit);
    });
    return;
  }
  Job job;
  job.run();
  for (const auto& [slot, text] : job.finals)
    EXPECT_THAT(text, HasSubstr(slot == 1 ? expected : "no error")) << slot;
}

Sequential with_rates(double dropout, double learning) {
  Sequential made({Input({5}), Dense(4, {.name = "first"}), Dropout(dropout, {.name = "drop"}), Dense(3)});
  made.compile({.optimizer = SGD(learning), .loss = "mse"});
  return made;
}

TEST(RecoveryOfProcesses, WhoComesBackWithAnotherModelIsNotTakenIn) {
  const auto make = [](const Self& self) {
    Sequential made({Input({5}), Dense(self.is_first() ? 4 : 7, {.name = "first"}), Dense(3)});
    made.compile({.optimizer = SGD(0.1), .loss = "mse"});
    return made;
  };
  newcomer_is_told(make, "first.units is 4 in ranks 0, 2 and 7 in rank 1");
}

TEST(RecoveryOfProcesses, WhoComesBackWithAnotherOptimizerIsNotTakenIn) {
  newcomer_is_told([](const Self& self) { return with_rates(0.2, self.is_first() ? 0.1 : 0.2); },
                   "optimizer.learning_rate is 0.1 in ranks 0, 2 and 0.2 in rank 1");
}

TEST(RecoveryOfProcesses, WhoComesBackWithOtherLayersIsNotTakenIn) {
  newcomer_is_told([](const Self& self) { return with_rates(self.is_first() ? 0.2 : 0.3, 0.1); },
                   "drop.rate is 0.2 in ranks 0, 2 and 0.3 in rank 1");
}

/// What fit is told there, and the text.
struct OtherFit {
  const char* name;
  void (*change)(FitConfig&);
  const char* expected;
};

class OtherSettingsOfFit : public ::testing::TestWithParam<OtherFit> {};

TEST_P(OtherSettingsOfFit, WhoComesBackWithThemIsNotTakenIn) {
  newcomer_is_told([](const Self&) { return with_rates(0.2, 0.1); }, GetParam().expected, GetParam().change);
}

INSTANTIATE_TEST_SUITE_P(All, OtherSettingsOfFit,
                         ::testing::Values(OtherFit{"epochs", [](FitConfig& fit) { fit.epochs = 3; },
                                                    "epochs is 2 in ranks 0, 2 and 3 in rank 1"},
                                           OtherFit{"batch_size", [](FitConfig& fit) { fit.batch_size = 4; },
                                                    "batch_size is 4 in rank 1 and 8 in ranks 0, 2"},
                                           OtherFit{"steps_per_epoch",
                                                    [](FitConfig& fit) { fit.steps_per_epoch = 2; },
                                                    "steps_per_epoch is 0 in ranks 0, 2 and 2 in rank 1"},
                                           OtherFit{"shuffle", [](FitConfig& fit) { fit.shuffle = false; },
                                                    "shuffle is false in rank 1"}),
                         [](const auto& instance) { return std::string(instance.param.name); });

// The first one's is taken, and all say so.
TEST(RecoveryOfProcesses, ALearningRateThatOneProcessSetsIsAWarning) {
  if (RankProcesses::rank()) {
    const Self self;
    const MultiWorkerMirroredStrategy several = strategy_of(self);
    const Model model = in_scope(several, [] { return with_rates(0.2, 0.125); });
    std::string warnings;
    set_log_sink([&](LogChannel channel, std::string_view text) {
      if (channel == LogChannel::warning) warnings += std::string(text) + "\n";
    });
    LambdaCallback sets({.on_epoch_end = [&](int epoch, Logs&) {
      if (epoch == 1 && self.slot == 1) model.optimizer().set_learning_rate(0.5);
    }});
    model.fit(inputs(), wave({kRows, 3}, 0.2),
              {.batch_size = kBatch, .epochs = 3, .verbose = 0, .callbacks = {sets}});
    set_log_sink({});
    EXPECT_EQ(model.optimizer().learning_rate(), 0.125);
    self.notes.write("final-" + std::to_string(self.slot), warnings);
    return;
  }
  Job job;
  job.run();
  expect_ended_well(job);
  for (const auto& [slot, text] : job.finals)
    EXPECT_THAT(text,
                HasSubstr("the learning rate is 0.125 in ranks 0, 2 and 0.5 in rank 1; all take those of "
                          "rank 0"))
        << slot;
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
