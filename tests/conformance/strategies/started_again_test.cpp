// What a process that is started again has of what the others trained before, and what is written at the end
// of epochs in which a process is killed.
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>

#include <nyala/tests/conformance/strategies/recovery_training.h>
#include <nyala/tests/support/error_text.h>

namespace nyala::started_again_test {

namespace {

using namespace recovery;
using ::testing::HasSubstr;

void expect_all_the_same(const Job& job) {
  EXPECT_EQ(job.kills, 1);
  expect_ended_well(job);
  expect_same_finals(job);
}

FitConfig short_fit() { return {.batch_size = kBatch, .epochs = 2, .verbose = 0}; }

/// Two fits of one model; killed in the second, the process passes the first one over.
void train_twice(int killed) {
  const Self self;
  const MultiWorkerMirroredStrategy several = strategy_of(self);
  const Model model = in_scope(several, classifier);
  const std::string file = RankProcesses::folder() + "/first.weights.h5";
  model.fit(inputs(), labels(), short_fit());
  if (self.is_first()) {
    model.save_weights(file);
    const std::string bits = bits_of(model, History());
    if (self.slot == 2) self.notes.write("after-first", bits);
  } else {
    EXPECT_THAT(error_text<StateError>([&] { model.get_weights(); }), HasSubstr("started again"));
    EXPECT_THAT(error_text<StateError>([&] { (void)model(inputs()); }), HasSubstr("started again"));
    EXPECT_THAT(error_text<StateError>([&] { (void)model.test_on_batch(inputs(), labels()); }),
                HasSubstr("started in the middle"));
    model.save_weights(file);  // the others did
    const Model loaded = OneDeviceStrategy("cpu:0").scope(classifier);
    loaded.load_weights(file);
    EXPECT_EQ(bits_of(loaded, History()), self.notes.read("after-first"));
  }
  FitConfig killing = short_fit();
  killing.callbacks = {killer(self, {"batch_end", killed, 5})};
  const History history = model.fit(inputs(), labels(), killing);
  (void)model(inputs());
  self.notes.write("final-" + std::to_string(self.slot), bits_of(model, history));
}

TEST(StartedAgain, TheWeightsOfAnEarlierFitAreUnknownUntilAllMeet) {
  if (RankProcesses::rank()) return train_twice(1);
  Job job;
  job.run();
  expect_all_the_same(job);
}

TEST(StartedAgain, TheFirstProcessOverwritesNoFileOfTheOthers) {
  if (RankProcesses::rank()) return train_twice(0);
  Job job;
  job.run();
  expect_all_the_same(job);
}

// It is not trained any more when the others wait in the fit of another one.
TEST(StartedAgain, AModelOfAnEarlierFitComesAsTheOthersHaveIt) {
  if (RankProcesses::rank()) {
    const Self self;
    const MultiWorkerMirroredStrategy several = strategy_of(self);
    const Model first = in_scope(several, classifier), second = several.scope(classifier);
    first.fit(inputs(), labels(), short_fit());
    FitConfig killing = short_fit();
    killing.callbacks = {killer(self, {"batch_end", 0, 5})};
    const History history = second.fit(inputs(), labels(), killing);
    const History more = first.fit(inputs(), labels(), short_fit());
    self.notes.write("final-" + std::to_string(self.slot), bits_of(first, more) + bits_of(second, history));
    return;
  }
  Job job;
  job.run();
  expect_all_the_same(job);
}

TEST(StartedAgain, AModelOfAnEarlierFitCanBeReadBehindTheMeeting) {
  if (RankProcesses::rank()) {
    const Self self;
    const MultiWorkerMirroredStrategy several = strategy_of(self);
    const Model first = in_scope(several, classifier), second = several.scope(classifier);
    first.fit(inputs(), labels(), short_fit());
    FitConfig killing = short_fit();
    killing.callbacks = {killer(self, {"batch_end", 2, 5})};
    second.fit(inputs(), labels(), killing);
    self.notes.write("final-" + std::to_string(self.slot),
                     bits_of(first, History()) + std::to_string(first.optimizer().iterations()));
    return;
  }
  Job job;
  job.run();
  expect_all_the_same(job);
}

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The places of "killer" among the callbacks, and of the process that is killed at the end of an epoch.
struct AtEpochEnd {
  int place, slot;
};

class KilledAtTheEndOfAnEpoch : public ::testing::TestWithParam<AtEpochEnd> {};

TEST_P(KilledAtTheEndOfAnEpoch, RowsAndTheBestFileAreWrittenOnce) {
  if (RankProcesses::rank()) {
    const Self self;
    const MultiWorkerMirroredStrategy several = strategy_of(self);
    const Model model = in_scope(several, classifier);
    const std::string csv = RankProcesses::folder() + "/log.csv",
                      best = RankProcesses::folder() + "/best.weights.h5";
    FitConfig fit{.batch_size = kBatch, .epochs = kEpochs, .verbose = 0};
    // The last epoch is the best one by its number.
    fit.callbacks = {
        LambdaCallback({.on_epoch_end = [](int epoch, Logs& logs) { logs.set("number", epoch); }}),
        CSVLogger(csv),
        ModelCheckpoint(
            best, {.monitor = "number", .save_best_only = true, .save_weights_only = true, .mode = "max"})};
    fit.callbacks.insert(fit.callbacks.begin() + GetParam().place,
                         killer(self, {"epoch_end", GetParam().slot, kEpochs}));
    const History history = model.fit(inputs(), labels(), fit);
    const std::string rows = content(csv);
    EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'), 1 + kEpochs) << rows;
    for (int epoch = 0; epoch < kEpochs; ++epoch)
      EXPECT_THAT(rows, HasSubstr("\n" + std::to_string(epoch) + ",")) << rows;
    const Model loaded = in_scope(OneDeviceStrategy("cpu:0"), classifier);
    loaded.load_weights(best);
    EXPECT_EQ(bits_of(loaded, History()), bits_of(model, History()));
    self.notes.write("final-" + std::to_string(self.slot), bits_of(model, history));
    return;
  }
  Job job;
  job.run();
  expect_all_the_same(job);
}

INSTANTIATE_TEST_SUITE_P(All, KilledAtTheEndOfAnEpoch,
                         ::testing::Values(AtEpochEnd{1, 0}, AtEpochEnd{2, 0}, AtEpochEnd{3, 0},
                                           AtEpochEnd{1, 1}, AtEpochEnd{2, 1}, AtEpochEnd{3, 1}),
                         [](const auto& instance) {
                           return "Callback" + std::to_string(instance.param.place) + "Process" +
                                  std::to_string(instance.param.slot);
                         });

/// Which process' callback changes the learning rate within an epoch (-1: all), and which one is killed then.
struct Rates {
  int changed, killed;
};

class ARateThatChangesWithinAnEpoch : public ::testing::TestWithParam<Rates> {};

// The callback of who is started again never comes to the batch in which it would change it.
TEST_P(ARateThatChangesWithinAnEpoch, ComesFromThoseWhoLive) {
  if (RankProcesses::rank()) {
    const Self self;
    const MultiWorkerMirroredStrategy several = strategy_of(self);
    const Model model = in_scope(several, classifier);
    FitConfig fit{.batch_size = kBatch, .epochs = 1, .verbose = 0};
    int batches = 0;
    std::vector<double> rates;
    fit.callbacks = {killer(self, {"batch_end", GetParam().killed, 4}),
                     LambdaCallback({.on_train_batch_end = [&](int64_t batch, Logs&) {
                       const bool changes = GetParam().changed < 0 || self.slot == GetParam().changed;
                       if (++batches == 3 && changes && batch == 2)
                         model.optimizer().set_learning_rate(0.125);
                       if (batch >= 4) rates.push_back(model.optimizer().learning_rate());
                     }})};
    const History history = model.fit(inputs(), labels(), fit);
    EXPECT_EQ(rates, (std::vector<double>{0.125, 0.125}));
    EXPECT_EQ(model.optimizer().learning_rate(), 0.125);
    self.notes.write("final-" + std::to_string(self.slot), bits_of(model, history));
    return;
  }
  Job job;
  job.run();
  expect_all_the_same(job);
}

INSTANTIATE_TEST_SUITE_P(All, ARateThatChangesWithinAnEpoch,
                         ::testing::Values(Rates{-1, 0}, Rates{-1, 1}, Rates{0, 1}, Rates{0, 2}),
                         [](const auto& instance) {
                           const int changed = instance.param.changed;
                           return (changed < 0 ? "InAll" : "In" + std::to_string(changed)) + "Killed" +
                                  std::to_string(instance.param.killed);
                         });

TEST(StartedAgain, AnErrorAtTheEndOfTrainingReachesTheOthersWithItsText) {
  if (RankProcesses::rank()) {
    const Self self;
    const auto several = std::make_unique<MultiWorkerMirroredStrategy>(strategy_of(self));
    try {
      const Model model = in_scope(*several, classifier);
      LambdaCallback throws({.on_train_end = [&](Logs&) {
        if (self.slot == 1) throw StateError("of the last hook");
      }});
      model.fit(inputs(), labels(), {.batch_size = kBatch, .verbose = 0, .callbacks = {throws}});
      self.notes.write("final-" + std::to_string(self.slot), "no error");
    } catch (const Error& error) {
      self.notes.write("final-" + std::to_string(self.slot), error.what());
    }
    return;
  }
  Job job;
  job.run();
  for (const auto& [slot, text] : job.finals) EXPECT_THAT(text, HasSubstr("of the last hook")) << slot;
}

}  // namespace

}  // namespace nyala::started_again_test
