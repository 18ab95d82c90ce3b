#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <unistd.h>

#include <gtest/gtest.h>

#include <nyala/api/callbacks/lambda_callback.h>
#include <nyala/api/callbacks/preemption_checkpoint_handler.h>
#include <nyala/api/callbacks/training_backup.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/tests/api/saving/interrupted_training.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/support/forked.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala {
namespace {

using namespace interrupted;

/// Where in training the signal comes.
enum class Moment { step, last_step_of_an_epoch, first_epoch_end, validation, last_epoch_end };

/// Sends the process a SIGTERM, once.
class Preempt : public Callback {
 public:
  explicit Preempt(Moment moment) : moment_(moment) {}
  void on_epoch_begin(int epoch, Logs&) override { epoch_ = epoch; }
  void on_train_batch_end(int64_t batch, Logs&) override {
    if (epoch_ == 1 && moment_ == Moment::step && batch >= 3) send();
    if (epoch_ == 1 && moment_ == Moment::last_step_of_an_epoch && batch == kRows / kBatch) send();
  }
  void on_test_batch_end(int64_t, Logs&) override {
    if (epoch_ == 1 && moment_ == Moment::validation) send();
  }
  void on_epoch_end(int epoch, Logs&) override {
    if (epoch == 0 && moment_ == Moment::first_epoch_end) send();
    if (epoch == kEpochs - 1 && moment_ == Moment::last_epoch_end) send();
  }

 private:
  void send() {
    if (!std::exchange(sent_, true)) std::raise(SIGTERM);
  }

  Moment moment_;
  int epoch_ = 0;
  bool sent_ = false;
};

class PreemptionTest : public testing::Test {
 protected:
  void SetUp() override { configure_logical_devices("cpu", 2); }
  void TearDown() override { configure_logical_devices("cpu", 1); }

  std::string backup() const { return folder_.file("backup"); }

  /// Trains once without and once with a signal in the middle, and compares. `others` are in the list, too.
  void expect_goes_on(
      const Training& training, Moment moment,
      const std::function<std::vector<CallbackArgument>()>& others = [] {
        return std::vector<CallbackArgument>();
      }) const {
    SCOPED_TRACE(static_cast<int>(moment));
    set_random_seed(11);
    const Model whole = model_of(training);
    const History expected = fit(whole, training, {});
    set_random_seed(11);
    PreemptionCheckpointHandler handler(backup());
    std::vector<CallbackArgument> callbacks = others();
    callbacks.insert(callbacks.begin(), {Preempt(moment), handler});
    EXPECT_THROW(fit(model_of(training), training, callbacks), PreemptedError);
    EXPECT_TRUE(handler.preempted());
    ASSERT_TRUE(std::filesystem::exists(backup() + "/latest.weights.h5"));
    set_random_seed(999);  // nothing of the new process' own random state may matter
    const Model second = model_of(training);
    callbacks = others();
    callbacks.insert(callbacks.begin(), handler);
    const History rest = fit(second, training, callbacks);
    EXPECT_FALSE(handler.preempted());
    EXPECT_EQ(bits_of(second), bits_of(whole));
    if (moment != Moment::last_epoch_end) expect_same_end(expected, rest);
    EXPECT_FALSE(std::filesystem::exists(backup()));
  }

  /// What is logged while f runs.
  template <class F>
  static std::string said_by(F&& f) {
    std::string said;
    set_log_sink([&](LogChannel, std::string_view text) { said += text; });
    f();
    set_log_sink({});
    return said;
  }

  ScratchFolder folder_{"preemption"};
};

TEST_F(PreemptionTest, TrainingGoesOnBitByBit) {
  Training t;
  t.validation = true;
  for (const Moment moment : {Moment::step, Moment::last_step_of_an_epoch, Moment::first_epoch_end,
                              Moment::validation, Moment::last_epoch_end})
    expect_goes_on(t, moment);
}

TEST_F(PreemptionTest, SoItDoesOnTwoDevicesAndInTheMiddleOfAccumulation) {
  for (const int replicas : {1, 2})
    expect_goes_on({.replicas = replicas, .optimizer = accumulating, .steps_per_execution = 2}, Moment::step);
}

TEST_F(PreemptionTest, BackupAndRestoreMayShareTheFolder) {
  const std::string folder = backup();
  for (const Moment moment : {Moment::step, Moment::first_epoch_end})
    expect_goes_on({}, moment, [folder] {
      return std::vector<CallbackArgument>{BackupAndRestore(folder, {.save_freq = 2})};
    });
}

/// Neither an end of the epoch nor one of training is made up.
TEST_F(PreemptionTest, NoOtherHookIsCalled) {
  int ends = 0;
  LambdaCallback count({.on_epoch_end = [&](int, Logs&) { ++ends; }, .on_train_end = [&](Logs&) { ++ends; }});
  const PreemptionCheckpointHandler handler(backup(), {.termination_watcher_fn = [] { return true; }});
  EXPECT_THROW(fit(model_of({}), {}, {PreemptionCheckpointHandler(handler), count}), PreemptedError);
  EXPECT_EQ(ends, 0);
}

TEST_F(PreemptionTest, AFunctionCanAnnounceItInsteadOfASignal) {
  int asked = 0;
  PreemptionCheckpointHandler handler(
      backup(), {.termination_signals = {}, .termination_watcher_fn = [&] { return ++asked == 3; }});
  try {
    fit(model_of({}), {}, {handler});
    FAIL() << "it was not preempted";
  } catch (const PreemptedError& error) {
    EXPECT_EQ(std::string(error.what()),
              "fit: preempted; '" + backup() +
                  "/latest.weights.h5' has epoch 0, batch 3: exit with "
                  "preemption_exit_code, fit goes on there when the program is started again");
  }
  EXPECT_EQ(preemption_exit_code, 42);
}

void (*handler_of(int signal))(int) {
  struct sigaction action = {};
  ::sigaction(signal, nullptr, &action);
  return action.sa_handler;
}

/// Also where the fit ends otherwise.
TEST_F(PreemptionTest, WhatTheSignalDidBeforeComesBack) {
  fit(model_of({}), {}, {PreemptionCheckpointHandler(backup())});
  EXPECT_EQ(handler_of(SIGTERM), SIG_DFL);
  EXPECT_THROW(fit(model_of({}), {}, {PreemptionCheckpointHandler(backup()), Preempt(Moment::step)}),
               PreemptedError);
  EXPECT_EQ(handler_of(SIGTERM), SIG_DFL);
  EXPECT_THROW(fit(model_of({}), {}, {PreemptionCheckpointHandler(backup()), Interrupt(2, 1)}), Interruption);
  EXPECT_EQ(handler_of(SIGTERM), SIG_DFL);
}

TEST_F(PreemptionTest, ASecondSignalEndsTheProcess) {
  const ForkedEnd end = in_forked_child([] {
    const SignalWatch watch({SIGTERM, SIGUSR1});
    const SignalWatch inner({SIGUSR1});
    std::raise(SIGUSR1);
    if (watch.signal() != SIGUSR1 || inner.signal() != SIGUSR1) return false;
    std::raise(SIGTERM);
    return false;
  });
  EXPECT_EQ(end.signal, SIGTERM);
}

TEST_F(PreemptionTest, AnIgnoredSignalStaysSo) {
  EXPECT_TRUE(in_forked_child([] {
                std::signal(SIGHUP, SIG_IGN);
                const SignalWatch watch({SIGHUP, SIGTERM});
                std::raise(SIGHUP);
                return watch.signal() == 0 && handler_of(SIGHUP) == SIG_IGN;
              }).worked());
}

TEST_F(PreemptionTest, ABackupBehindTheLastEpochIsKept) {
  const Model model = model_of({});
  std::filesystem::create_directories(backup());
  const std::string path = backup() + "/latest.weights.h5";
  for (const TrainingPosition& position : {TrainingPosition{kEpochs + 4, 0}, TrainingPosition{kEpochs, 2}}) {
    Checkpoint(model).save(path, position);
    expect_error([&] { fit(model_of({}), {}, {PreemptionCheckpointHandler(backup())}); },
                 {"nothing is left to train", "at epoch " + std::to_string(position.epoch),
                  "epochs is " + std::to_string(kEpochs), "the backup is kept"});
    EXPECT_TRUE(std::filesystem::exists(path));
  }
}

TEST_F(PreemptionTest, TheBackupOfACompletedTrainingIsItsEndWhichIsSaid) {
  std::filesystem::create_directories(backup());
  Checkpoint(model_of({})).save(backup() + "/latest.weights.h5", {kEpochs, 0});
  EXPECT_NE(said_by([&] {
              fit(model_of({}), {}, {PreemptionCheckpointHandler(backup())});
            }).find("nothing is left to train"),
            std::string::npos);
}

TEST_F(PreemptionTest, WeightsThatAreNoBackupAreNamed) {
  std::filesystem::create_directories(backup());
  model_of({}).save_weights(backup() + "/latest.weights.h5");
  const std::string said = said_by([&] { fit(model_of({}), {}, {PreemptionCheckpointHandler(backup())}); });
  for (const char* part : {"is no backup", "optimizer state", "first epoch"})
    EXPECT_NE(said.find(part), std::string::npos) << said;
}

TEST_F(PreemptionTest, AnEmptyFolderThatWasThereBeforeStays) {
  std::filesystem::create_directories(backup());
  fit(model_of({}), {}, {PreemptionCheckpointHandler(backup())});
  EXPECT_TRUE(std::filesystem::is_empty(backup()));
  std::filesystem::remove(backup());
  fit(model_of({}), {}, {PreemptionCheckpointHandler(backup())});
  EXPECT_FALSE(std::filesystem::exists(backup()));
}

TEST_F(PreemptionTest, FoldersAreMadeForACheckpointOnly) {
  const std::string top = folder_.file("a"), deep = top + "/b/c";
  LambdaCallback look({.on_epoch_begin = [&](int, Logs&) { EXPECT_FALSE(std::filesystem::exists(top)); }});
  fit(model_of({}), {}, {PreemptionCheckpointHandler(deep), look});
  EXPECT_FALSE(std::filesystem::exists(top));
  EXPECT_THROW(fit(model_of({}), {}, {PreemptionCheckpointHandler(deep), Interrupt(0, 1)}), Interruption);
  EXPECT_FALSE(std::filesystem::exists(top));
  EXPECT_THROW(fit(model_of({}), {}, {Preempt(Moment::step), PreemptionCheckpointHandler(deep)}),
               PreemptedError);
  EXPECT_TRUE(std::filesystem::exists(deep + "/latest.weights.h5"));
  std::filesystem::remove_all(top);
  fit(model_of({}), {}, {BackupAndRestore(deep)});
  EXPECT_FALSE(std::filesystem::exists(top));
}

TEST_F(PreemptionTest, AFolderThatCannotBeWrittenToIsSaidBeforeTraining) {
  const Model model = model_of({});
  std::ofstream(folder_.file("file")) << "no folder";
  const std::string under_file = folder_.file("file") + "/x", closed = folder_.file("closed");
  EXPECT_EQ(error_text<IoError>([&] { fit(model, {}, {PreemptionCheckpointHandler(under_file)}); }),
            "PreemptionCheckpointHandler: cannot make folder '" + under_file + "': Not a directory");
  std::filesystem::create_directories(closed);
  using std::filesystem::perms;
  std::filesystem::permissions(folder_.path(), perms::owner_all | perms::group_exec | perms::others_exec);
  std::filesystem::permissions(closed, perms::owner_exec | perms::group_exec | perms::others_exec);
  EXPECT_TRUE(in_forked_child([&] {
                if (::geteuid() == 0 && ::setuid(65534) != 0) return false;
                detail::TrainingBackup backup(closed, "someone");
                const std::string text = error_text<IoError>([&] { backup.begin(model); });
                return text == "someone: cannot write to folder '" + closed + "': Permission denied";
              }).worked());
}

TEST_F(PreemptionTest, WhatCannotWorkIsSaid) {
  EXPECT_THROW(PreemptionCheckpointHandler(""), InvalidArgumentError);
  EXPECT_THROW(fit(model_of({}), {},
                   {PreemptionCheckpointHandler(backup(), {.termination_signals = {SIGTERM, SIGKILL}})}),
               InvalidArgumentError);
  EXPECT_EQ(handler_of(SIGTERM), SIG_DFL);
}

}  // namespace
}  // namespace nyala
