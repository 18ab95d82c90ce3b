// Processes that are killed or stand still where no step has been made yet: between two fits, and at the
// beginning of one.
#include <filesystem>

#include <gmock/gmock.h>

#include <nyala/tests/conformance/strategies/recovery_training.h>

namespace nyala::between_fits_test {

namespace {

using namespace recovery;

/// Where a process is killed.
struct Moment {
  std::string name;
  Kill first = {}, second = {};  // in the two fits
  int between = -1;              // the process that is killed there
  bool is_built = true;          // the model, before the first fit
};

class KilledBeforeAStep : public ::testing::TestWithParam<Moment> {
 protected:
  static Model model() {
    Sequential made({Dense(6, {.activation = "tanh"}), BatchNormalization(), Dropout(0.25),
                     Dense(3, {.activation = "softmax"})});
    made.compile(
        {.optimizer = Adam(0.01), .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
    return made;
  }
  static void train() {
    const Self self;
    const MultiWorkerMirroredStrategy several = strategy_of(self);
    set_random_seed(3);
    const Model model =
        in_scope(several, [] { return GetParam().is_built ? classifier() : KilledBeforeAStep::model(); });
    const auto fit = [&](const Kill& kill) {
      FitConfig config{.batch_size = kBatch, .epochs = 2, .verbose = 0};
      // Another rate in each epoch, from the one before.
      config.callbacks = {killer(self, is_undisturbed() ? Kill() : kill),
                          LearningRateScheduler([](int, double rate) { return 0.9 * rate; })};
      return model.fit(inputs(), labels(), config);
    };
    fit(GetParam().first);
    if (!is_undisturbed() && self.is_first() && self.slot == GetParam().between) ::kill(::getpid(), SIGKILL);
    const History history = fit(GetParam().second);
    EXPECT_EQ(history.epoch(), (std::vector<int>{0, 1}));
    self.notes.write("final-" + std::to_string(self.slot), bits_of(model, history));
  }
};

TEST_P(KilledBeforeAStep, TheOthersHaveWhatItGoesOnFrom) {
  if (RankProcesses::rank()) return train();
  expect_no_bit_changes(1);
}

INSTANTIATE_TEST_SUITE_P(
    At, KilledBeforeAStep,
    ::testing::Values(Moment{"between", {}, {}, 1}, Moment{"between_the_first_one", {}, {}, 0},
                      Moment{"the_beginning_of_the_first_fit", {"train_begin", 2, 1}},
                      Moment{"the_beginning_of_the_second_fit", {}, {"train_begin", 0, 1}},
                      Moment{"its_first_epoch", {}, {"epoch_begin", 1, 1}},
                      Moment{"its_second_epoch", {}, {"epoch_begin", 1, 2}},
                      Moment{"its_first_batch", {}, {"batch_begin", 0, 1}},
                      Moment{"the_beginning_of_what_is_not_built", {"train_begin", 0, 1}, {}, -1, false},
                      Moment{"the_first_epoch_of_what_is_not_built", {"epoch_begin", 1, 1}, {}, -1, false}),
    [](const auto& instance) { return instance.param.name; });

// Rank 0 makes the folder of a backup when training begins.
TEST(BetweenFits, WhoTakesThePlaceOfTheFirstOneWritesTheBackup) {
  if (RankProcesses::rank()) {
    const Self self;
    const MultiWorkerMirroredStrategy several = strategy_of(self);
    const Model model = in_scope(several, classifier);
    FitConfig fit{.batch_size = kBatch, .epochs = 2, .verbose = 0};
    model.fit(inputs(), labels(), fit);
    if (self.slot == 0) ::kill(::getpid(), SIGKILL);
    fit.callbacks = {BackupAndRestore(self.notes.folder() + "/backup", {.delete_checkpoint = false})};
    const History history = model.fit(inputs(), labels(), fit);
    EXPECT_TRUE(std::filesystem::exists(self.notes.folder() + "/backup/latest.weights.h5"));
    return;
  }
  Job job{.restarts = false};
  job.run();
  EXPECT_EQ(job.kills, 1);
  expect_ended_well(job, {1, 2});
}

TEST(BetweenFits, FewerGoOnBitByBit) {
  if (RankProcesses::rank()) {
    const Self self;
    const MultiWorkerMirroredStrategy several = strategy_of(self);
    const Model model = in_scope(several, classifier);
    const FitConfig fit{.batch_size = kBatch, .epochs = 2, .verbose = 0};
    model.fit(inputs(), labels(), fit);
    if (self.slot == 1) ::kill(::getpid(), SIGKILL);
    const History history = model.fit(inputs(), labels(), fit);
    EXPECT_EQ(several.num_processes(), 2);
    self.notes.write("final-" + std::to_string(self.slot), bits_of(model, history));
    return;
  }
  Job job{.restarts = false};
  job.run();
  EXPECT_EQ(job.kills, 1);
  expect_ended_well(job, {0, 2});
  expect_same_finals(job, {0, 2});
}

// It stands still in the first fit, and wakes when the others are in the second one.
class WokenInALaterFit : public ::testing::TestWithParam<int> {};

TEST_P(WokenInALaterFit, OnlyItPassesItsOwnOver) {
  const int frozen = GetParam(), other = frozen == 0 ? 2 : 0;
  if (RankProcesses::rank()) {
    const Self self;
    const MultiWorkerMirroredStrategy several = strategy_of(self);
    const Model model = in_scope(several, classifier);
    const auto wait_until = [](const auto& is_so) {
      for (int i = 0; i < 20'000 && !is_so(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    };
    const FitConfig fit{.batch_size = kBatch, .epochs = 2, .verbose = 0};
    FitConfig first = fit, second = fit;
    int batches = 0;
    first.callbacks = {LambdaCallback({.on_train_batch_end = [&](int64_t, Logs&) {
      if (self.slot != other || ++batches != 4) return;
      self.notes.write("freeze", "");
      wait_until([&] { return self.notes.has("frozen"); });
    }})};
    second.callbacks = {LambdaCallback({.on_train_batch_end = [&, seen = 0](int64_t, Logs&) mutable {
      if (self.slot != other || ++seen < 3) return;
      if (seen > 3 && several.num_processes() == 2)  // it does not end before the next generation begins
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      if (seen != 3) return;
      self.notes.write("thaw", "");
      const std::string wants = "wants-" + std::to_string(frozen) + ".0";
      wait_until([&] { return self.notes.read(wants) == "1"; });  // it has given its generation up
    }})};
    model.fit(inputs(), labels(), first);
    if (self.slot == frozen) {
      EXPECT_THROW(model.get_weights(), StateError);
    }
    const History history = model.fit(inputs(), labels(), second);
    EXPECT_EQ(history.epoch(), (std::vector<int>{0, 1}));
    EXPECT_EQ(several.num_processes(), 3);
    self.notes.write("final-" + std::to_string(self.slot), bits_of(model, history));
    return;
  }
  Job job;
  int seen = 0;
  const auto all_but_it = [&] {
    std::vector<std::string> names = {"0.0", "1.0", "2.0"};
    names.erase(names.begin() + frozen);
    return names;
  };
  job.meanwhile = [&](RankProcesses& processes, FileGroupKeeper& keeper) {
    if (seen == 0 && keeper.notes().has("freeze")) {
      seen = 1;
      processes.send(frozen, SIGSTOP);
      keeper.notes().write("frozen", "");
      keeper.begin(all_but_it());
    } else if (seen == 1 && keeper.notes().has("thaw")) {
      seen = 2;
      processes.send(frozen, SIGCONT);
      keeper.begin({"0.0", "1.0", "2.0"});
    }
  };
  job.run();
  EXPECT_EQ(seen, 2);
  expect_ended_well(job);
  expect_same_finals(job);
}

INSTANTIATE_TEST_SUITE_P(All, WokenInALaterFit, ::testing::Values(0, 1),
                         [](const auto& instance) { return "Process" + std::to_string(instance.param); });

}  // namespace

}  // namespace nyala::between_fits_test
