#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include <nyala/api/callbacks/all.h>
#include <nyala/api/layers/core/dense.h>
#include <nyala/api/losses/all.h>
#include <nyala/api/model/model.h>
#include <nyala/api/optimizers/all.h>
#include <nyala/api/parallel/parallel_model_checkpoint.h>
#include <nyala/api/saving/load_model.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/support/scratch_folder.h>

// Callbacks are driven by hand with made-up logs, so that what they do follows from the numbers below.
namespace nyala {
namespace {

Sequential small_model(const Optimizer& optimizer = SGD(0.5)) {
  Sequential model({Input({2}), Dense(1)});
  model.compile({.optimizer = optimizer, .loss = MeanSquaredError(), .metrics = {"mae"}});
  return model;
}

/// Everything printed while it lives.
class Printed {
 public:
  Printed() { ::testing::internal::CaptureStdout(); }
  std::string text() { return ::testing::internal::GetCapturedStdout(); }
};

/// Warnings while it lives.
class Warnings {
 public:
  Warnings() {
    set_log_sink([this](LogChannel, std::string_view text) { texts.emplace_back(text); });
  }
  ~Warnings() { set_log_sink({}); }
  std::vector<std::string> texts;
};

struct Epochs {
  std::string name = "val_loss";
  std::vector<double> values = {};
};

/// Runs the epochs until training is stopped; the number of epochs that ran.
int run(Callback& callback, Model& model, const Epochs& epochs) {
  callback.attach({&model, {.verbose = 0, .epochs = static_cast<int>(epochs.values.size())}});
  model.set_stop_training(false);
  Logs none;
  callback.on_train_begin(none);
  int epoch = 0;
  while (epoch < static_cast<int>(epochs.values.size()) && !model.stop_training()) {
    callback.on_epoch_begin(epoch, none);
    Logs logs{{"loss", 1.0}, {epochs.name, epochs.values[static_cast<size_t>(epoch)]}};
    callback.on_epoch_end(epoch, logs);
    ++epoch;
  }
  callback.on_train_end(none);
  return epoch;
}

int epochs_until_stop(const EarlyStoppingConfig& config, const std::vector<double>& values) {
  Model model = small_model();
  EarlyStopping stopping(config);
  return run(stopping, model, {config.monitor, values});
}

TEST(HistoryCallback, SaysWhereNoEpochHasRun) {
  const History history = small_model().fit(Tensor::zeros({2, 2}), Tensor::zeros({2, 1}),
                                            {.epochs = 3, .verbose = 0, .initial_epoch = 3});
  EXPECT_FALSE(history.contains("loss"));
  try {
    history["loss"];
    FAIL() << "nothing was thrown";
  } catch (const NotFoundError& error) {
    EXPECT_NE(std::string(error.what()).find("no epoch has run"), std::string::npos) << error.what();
  }
}

TEST(EarlyStoppingCallback, StopsWhenPatienceIsUsedUp) {
  EXPECT_EQ(epochs_until_stop({}, {1, 2, 3}), 2);
  EXPECT_EQ(epochs_until_stop({}, {1, .9, .8, .8, .7}), 4);
  EXPECT_EQ(epochs_until_stop({.patience = 2}, {1, 2, 3, 4, 5}), 3);
  EXPECT_EQ(epochs_until_stop({.min_delta = 0.5, .patience = 2}, {3, 2.8, 2.4, 2.2, 1.8, 1.7, 1.6, 1.6}), 7);
  EXPECT_EQ(epochs_until_stop({.mode = "max"}, {1, 2, 3, 3, 4}), 4);
  EXPECT_EQ(epochs_until_stop({.patience = 1, .start_from_epoch = 3}, {1, 2, 3, 4, 5, 6, 7}), 5);
}

TEST(EarlyStoppingCallback, NaNIsNoImprovement) {
  const double nan = std::nan("");
  EXPECT_EQ(epochs_until_stop({.patience = 1}, {1, nan, nan, nan}), 2);
  EXPECT_EQ(epochs_until_stop({.patience = 2}, {nan, nan, nan, nan}), 3) << "the first NaN becomes the best";
}

TEST(EarlyStoppingCallback, WorseThanBaselineCountsButAnImprovingEpochNeverStops) {
  EXPECT_EQ(epochs_until_stop({.patience = 2, .baseline = 0.5}, {1, .9, .8, .7, .6, .65}), 6);
  EXPECT_EQ(epochs_until_stop({.patience = 2, .baseline = 0.5}, {1, .9, .95, .4}), 3);
}

TEST(EarlyStoppingCallback, RestoresTheBestWeights) {
  Model model = small_model();
  class Changing final : public Callback {
   public:
    explicit Changing(EarlyStopping& stopping) : stopping_(stopping) {}
    void on_train_begin(Logs& logs) override {
      stopping_.attach({&model(), parameters()});
      stopping_.on_train_begin(logs);
    }
    void on_epoch_end(int epoch, Logs& logs) override {
      Tensors weights = model().get_weights();
      for (Tensor& weight : weights) weight = Tensor::full(weight.shape(), epoch + 1.0);
      model().set_weights(weights);
      stopping_.on_epoch_end(epoch, logs);
    }
    void on_train_end(Logs& logs) override { stopping_.on_train_end(logs); }
    EarlyStopping& stopping_;
  };
  EarlyStopping stopping({.patience = 2, .verbose = 1, .restore_best_weights = true});
  Changing changing(stopping);
  Printed printed;
  EXPECT_EQ(run(changing, model, {"val_loss", {3, 1, 2, 2, 2}}), 4);
  EXPECT_EQ(printed.text(),
            "Epoch 4: early stopping\nRestoring model weights from the end of the best epoch: 2.\n");
  EXPECT_EQ(model.get_weights()[0].to_vector<float>()[0], 2.0f);
}

TEST(EarlyStoppingCallback, WithoutTheMonitoredValueWarnsAndGoesOn) {
  Warnings warnings;
  Model model = small_model();
  EarlyStopping stopping({.monitor = "val_loss"});
  EXPECT_EQ(run(stopping, model, {"val_mae", {1, 2, 3}}), 3);
  ASSERT_EQ(warnings.texts.size(), 3u);
  EXPECT_EQ(warnings.texts[0],
            "Early stopping conditioned on metric `val_loss` which is not available. Available metrics are: "
            "loss,val_mae");
}

/// As in Keras 3.15, which knows the total loss and compiled metrics only.
TEST(MonitorMode, OfALossOfOneOutputItHasToBeSaid) {
  Model model = small_model();
  EarlyStopping automatic({.monitor = "val_lines_loss"}),
      reduced({.monitor = "val_lines_loss", .mode = "min"});
  EXPECT_THROW(run(automatic, model, {"val_lines_loss", {1, 2}}), InvalidArgumentError);
  ReduceLROnPlateau plateau({.monitor = "val_lines_loss"});
  EXPECT_THROW(run(plateau, model, {"val_lines_loss", {1, 2}}), InvalidArgumentError);
  EXPECT_EQ(run(reduced, model, {"val_lines_loss", {1, 2, 3}}), 2);
}

TEST(MonitorMode, AMisspelledNameIsAnsweredByTheNearest) {
  Model model = small_model();
  const auto message = [&](auto callback) {
    try {
      run(callback, model, {"val_loss", {2, 1}});
    } catch (const InvalidArgumentError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string end =
      ": the logs have no 'val_los' (did you mean 'val_loss'?). Available metrics are: loss,val_loss";
  EXPECT_EQ(message(EarlyStopping({.monitor = "val_los"})), "EarlyStopping" + end);
  EXPECT_EQ(message(ReduceLROnPlateau({.monitor = "val_los"})), "ReduceLROnPlateau" + end);
  const std::string path = (std::filesystem::temp_directory_path() / "monitor.weights.h5").string();
  ModelCheckpoint::Config config{.monitor = "val_los", .save_best_only = true, .save_weights_only = true};
  EXPECT_EQ(message(ModelCheckpoint(path, config)), "ModelCheckpoint" + end);
  Warnings warnings;  // where the direction is known it may still come
  config.mode = "min";
  ModelCheckpoint checkpoint(path, config);
  run(checkpoint, model, {"val_loss", {1}});
  ASSERT_EQ(warnings.texts.size(), 1u);
  EXPECT_NE(warnings.texts[0].find("`val_los` which is not available (did you mean 'val_loss'?)"),
            std::string::npos);
}

TEST(MonitorMode, AMetricOfSeveralValuesCannotBeFollowed) {
  Model model = small_model();
  EarlyStopping stopping({.monitor = "f1", .mode = "max"});
  stopping.attach({&model, {}});
  Logs logs{{"loss", 1.0}};
  logs.set("f1", std::vector<double>{0.25, 0.75});
  EXPECT_THROW(stopping.on_epoch_end(0, logs), InvalidArgumentError);
}

TEST(MonitorMode, AutoAsksTheMetric) {
  Model model = small_model();
  const Tensor x = Tensor::zeros({4, 2}), y = Tensor::zeros({4, 1});
  model.evaluate(x, y, {.verbose = 0});  // metrics are definite now
  EarlyStopping of_metric({.monitor = "val_mae"});
  EXPECT_EQ(run(of_metric, model, {"val_mae", {2, 1, 1.5, 0.5}}), 3);
  EarlyStopping unknown({.monitor = "val_something"});
  EXPECT_THROW(run(unknown, model, {"val_something", {1, 2}}), InvalidArgumentError);
  Warnings warnings;
  EarlyStopping odd({.mode = "sideways"});
  ASSERT_EQ(warnings.texts.size(), 1u);
  EXPECT_EQ(warnings.texts[0], "EarlyStopping mode 'sideways' is unknown, fallback to auto mode.");
}

TEST(ReduceLROnPlateauCallback, ReducesWaitsAndStopsAtTheLowest) {
  const Optimizer optimizer = SGD(0.5);
  Model model = small_model(optimizer);
  ReduceLROnPlateau reduce({.factor = 0.5, .patience = 2, .verbose = 1, .cooldown = 1, .min_lr = 0.2});
  Printed printed;
  run(reduce, model, {"val_loss", {1, 1, 1, 1, 1, 1, 1, 1}});
  EXPECT_EQ(printed.text(),
            "\nEpoch 3: ReduceLROnPlateau reducing learning rate to 0.25.\n"
            "\nEpoch 5: ReduceLROnPlateau reducing learning rate to 0.2.\n");
  EXPECT_EQ(optimizer.learning_rate(), static_cast<double>(0.2f));
  EXPECT_THROW(ReduceLROnPlateau({.factor = 1.0}), InvalidArgumentError);
}

TEST(ReduceLROnPlateauCallback, LogsTheRate) {
  Model model = small_model();
  ReduceLROnPlateau reduce;
  reduce.attach({&model, {}});
  Logs logs{{"val_loss", 1.0}};
  reduce.on_train_begin(logs);
  reduce.on_epoch_end(0, logs);
  EXPECT_EQ(logs["learning_rate"], 0.5);
}

TEST(LearningRateSchedulerCallback, FunctionsOfEpochAndOfEpochAndRate) {
  const Optimizer optimizer = SGD(1.0);
  Model model = small_model(optimizer);
  LearningRateScheduler halving([](int, double rate) { return rate / 2; });
  run(halving, model, {"val_loss", {1, 1, 1}});
  EXPECT_EQ(optimizer.learning_rate(), 0.125);
  LearningRateScheduler counting([](int epoch) { return 0.25 * (epoch + 1); }, {.verbose = 1});
  Printed printed;
  run(counting, model, {"val_loss", {1, 1}});
  EXPECT_EQ(printed.text(),
            "\nEpoch 1: LearningRateScheduler setting learning rate to 0.25.\n"
            "\nEpoch 2: LearningRateScheduler setting learning rate to 0.5.\n");
  EXPECT_EQ(optimizer.learning_rate(), 0.5);
}

std::filesystem::path fresh_folder(const std::string& name) {
  const auto folder = std::filesystem::temp_directory_path() /
                      ("nyala_callbacks_" + name + "_" + std::to_string(::getpid()));
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(CSVLoggerCallback, APipeIsAnErrorAndNotAWait) {
  const auto folder = fresh_folder("pipe");
  std::filesystem::create_directories(folder);
  ASSERT_EQ(::mkfifo((folder / "log.csv").c_str(), 0600), 0);
  Model model = small_model();
  CSVLogger logger((folder / "log.csv").string());
  EXPECT_THROW(run(logger, model, {"val_loss", {1}}), IoError);
}

TEST(Callbacks, PathsAreNotCutAtANulByte) {
  const ScratchFolder folder("nul");
  const std::string cut = folder.file("a") + std::string("\0b.keras", 8);
  expect_error([&] { CSVLogger logger(cut); }, {"NUL byte"});
  expect_error([&] { BackupAndRestore backup(cut); }, {"NUL byte"});
  const Sequential model({Input({1}), Dense(1)});
  model.compile({.loss = "mse"});
  const Tensor x = Tensor::ones({2, 1});
  const std::string below = folder.file("a") + std::string("\0b/c.keras", 10);
  expect_error([&] { model.fit(x, x, {.verbose = 0, .callbacks = {ModelCheckpoint(below)}}); }, {"NUL byte"});
  expect_error([&] { model.save(cut); }, {"NUL byte"});
  expect_error([&] { load_model(cut); }, {"NUL byte"});
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(CSVLoggerCallback, BytesOfPythonsCsv) {
  const auto file = fresh_folder("csv") / "log.csv";
  Model model = small_model();
  CSVLogger logger(file.string());
  logger.attach({&model, {}});
  Logs none, first{{"loss", 0.5}, {"acc", 1e-5}}, second{{"loss", 2}, {"acc", 1}, {"val_loss", 0.25}};
  logger.on_train_begin(none);
  logger.on_epoch_end(0, first);
  logger.on_epoch_end(1, second);
  logger.on_train_end(none);
  const std::string header = "epoch,acc,loss,val_acc,val_loss\r\n",
                    rows = "0,1e-05,0.5,NA,NA\r\n1,1.0,2.0,NA,0.25\r\n";
  EXPECT_EQ(bytes_of(file), header + rows);
  CSVLogger more(file.string(), {.append = true});
  more.attach({&model, {}});
  more.on_train_begin(none);
  more.on_epoch_end(2, second);
  more.on_train_end(none);
  EXPECT_EQ(bytes_of(file), header + rows + "2,1.0,2.0,0.25\r\n");
  CSVLogger over(file.string(), {.separator = ";"});
  over.attach({&model, {}});
  over.on_train_begin(none);
  over.on_epoch_end(0, second);
  over.on_train_end(none);
  EXPECT_EQ(bytes_of(file), "epoch;acc;loss;val_loss\r\n0;1.0;2.0;0.25\r\n");
  CSVLogger nowhere((file / "below" / "x.csv").string());
  nowhere.attach({&model, {}});
  EXPECT_THROW(nowhere.on_train_begin(none), IoError);
  EXPECT_THROW(CSVLogger("x.csv", {.separator = ", "}), InvalidArgumentError);
}

// One process stood still while another one wrote in its place: its rows come after those.
TEST(CSVLoggerCallback, RowsOfAnotherProcessStay) {
  const auto file = fresh_folder("csv") / "log.csv";
  Model model = small_model();
  CSVLogger logger(file.string());
  logger.attach({&model, {}});
  Logs none, logs{{"loss", 0.5}, {"val_loss", 0.25}};
  logger.on_train_begin(none);
  logger.on_epoch_end(0, logs);
  std::ofstream(file, std::ios::binary | std::ios::app) << "1,0.125,0.0625\r\n";
  logger.on_epoch_end(2, logs);
  logger.on_train_end(none);
  EXPECT_EQ(bytes_of(file), "epoch,loss,val_loss\r\n0,0.5,0.25\r\n1,0.125,0.0625\r\n2,0.5,0.25\r\n");
}

TEST(TerminateOnNaNCallback, StopsOrThrows) {
  Model model = small_model();
  TerminateOnNaN callback;
  callback.attach({&model, {}});
  Logs fine{{"loss", 1.0}}, bad{{"loss", std::nan("")}}, infinite{{"loss", INFINITY}}, none;
  callback.on_train_batch_end(0, fine);
  callback.on_train_batch_end(1, none);
  EXPECT_FALSE(model.stop_training());
  Printed printed;
  callback.on_train_batch_end(2, infinite);
  EXPECT_EQ(printed.text(), "Batch 2: Invalid loss, terminating training\n");
  EXPECT_TRUE(model.stop_training());
  TerminateOnNaN throwing({.raise_error = true});
  EXPECT_THROW(throwing.on_train_batch_end(3, bad), NumericError);
}

TEST(LambdaCallbackHooks, AreCalled) {
  std::string calls;
  LambdaCallback callback({.on_epoch_begin = [&](int epoch, Logs&) { calls += "b" + std::to_string(epoch); },
                           .on_epoch_end = [&](int epoch, Logs&) { calls += "e" + std::to_string(epoch); },
                           .on_train_end = [&](Logs&) { calls += "."; }});
  Model model = small_model();
  run(callback, model, {"val_loss", {1, 1}});
  EXPECT_EQ(calls, "b0e0b1e1.");
}

std::vector<std::string> files_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

TEST(ModelCheckpointCallback, EveryEpochWithNamesFromTheLogs) {
  const auto folder = fresh_folder("epochs");
  Model model = small_model();
  ModelCheckpoint checkpoint((folder / "made" / "{epoch:02d}-{val_loss:.2f}.weights.h5").string(),
                             {.save_weights_only = true});
  run(checkpoint, model, {"val_loss", {0.5, 0.25}});
  EXPECT_EQ(files_in(folder / "made"),
            (std::vector<std::string>{"01-0.50.weights.h5", "02-0.25.weights.h5"}));
}

TEST(ModelCheckpointCallback, OnlyTheBest) {
  const auto folder = fresh_folder("best");
  const std::string path = (folder / "{epoch}.weights.h5").string();
  Model model = small_model();
  ModelCheckpoint checkpoint(
      path,
      {.verbose = 1, .save_best_only = true, .save_weights_only = true, .initial_value_threshold = 0.9});
  Printed printed;
  run(checkpoint, model, {"val_loss", {1, 0.5, 0.75}});
  const std::string second = (folder / "2.weights.h5").string();
  EXPECT_EQ(printed.text(),
            "\nEpoch 1: val_loss did not improve from 0.90000\n"
            "\nEpoch 2: val_loss improved from 0.90000 to 0.50000, saving model to " +
                second + "\n\nEpoch 2: finished saving model to " + second +
                "\n\nEpoch 3: val_loss did not improve from 0.50000\n");
  EXPECT_EQ(files_in(folder), std::vector<std::string>{"2.weights.h5"});
}

TEST(ModelCheckpointCallback, EveryFewBatches) {
  const auto folder = fresh_folder("batches");
  Model model = small_model();
  ModelCheckpoint checkpoint((folder / "{epoch}-{batch}.weights.h5").string(),
                             {.save_weights_only = true, .save_freq = 3});
  checkpoint.attach({&model, {}});
  Logs logs{{"loss", 1.0}};
  for (int epoch = 0; epoch < 2; ++epoch) {
    checkpoint.on_epoch_begin(epoch, logs);
    for (int64_t batch = 0; batch < 4; ++batch) checkpoint.on_train_batch_end(batch, logs);
    checkpoint.on_epoch_end(epoch, logs);
  }
  EXPECT_EQ(files_in(folder), (std::vector<std::string>{"1-3.weights.h5", "2-2.weights.h5"}));
}

TEST(ModelCheckpointCallback, WholeModels) {
  const auto folder = fresh_folder("whole");
  const std::string path = (folder / "{epoch}.keras").string();
  Model model = small_model();
  ModelCheckpoint checkpoint(path);
  run(checkpoint, model, {"val_loss", {0.5}});
  const Model loaded = load_model((folder / "1.keras").string());
  EXPECT_EQ(loaded.get_weights()[0].to_vector<float>(), model.get_weights()[0].to_vector<float>());
}

TEST(ModelCheckpointCallback, WholeModelsInHdf5) {
  const auto folder = fresh_folder("whole_hdf5");
  const std::string plain_path = (folder / "{epoch}.h5").string();
  const std::string parallel_path = (folder / "{epoch}.hdf5").string();
  Model model = small_model(), other = small_model();
  ModelCheckpoint plain(plain_path);
  ParallelModelCheckpoint parallel(other, parallel_path);
  run(plain, model, {"val_loss", {0.5}});
  run(parallel, model, {"val_loss", {0.5}});
  for (const auto& [file, saved] : {std::pair(folder / "1.h5", model), std::pair(folder / "1.hdf5", other)}) {
    const Model loaded = load_model(file.string());
    EXPECT_EQ(loaded.get_weights()[0].to_vector<float>(), saved.get_weights()[0].to_vector<float>());
  }
}

TEST(ModelCheckpointCallback, PathsAreCheckedWhereTheyAreWritten) {
  EXPECT_THROW(ModelCheckpoint("model.h5", {.save_weights_only = true}), InvalidArgumentError);
  EXPECT_THROW(ModelCheckpoint("model.txt"), InvalidArgumentError);
  EXPECT_THROW(ModelCheckpoint("model.weights.h5"), InvalidArgumentError);
  EXPECT_THROW(ModelCheckpoint("a.weights.h5", {.save_weights_only = true, .save_freq = "batch"}),
               InvalidArgumentError);
  EXPECT_THROW(ModelCheckpoint("a.weights.h5", {.save_weights_only = true, .save_freq = 0}),
               InvalidArgumentError);
  const auto folder = fresh_folder("directory");
  std::filesystem::create_directories(folder / "x.weights.h5");
  Model model = small_model();
  ModelCheckpoint into_folder((folder / "x.weights.h5").string(), {.save_weights_only = true});
  EXPECT_THROW(run(into_folder, model, {"val_loss", {1}}), IoError);
  std::filesystem::create_symlink("circle.weights.h5", folder / "circle.weights.h5");
  ModelCheckpoint in_a_circle((folder / "circle.weights.h5").string(), {.save_weights_only = true});
  EXPECT_THROW(run(in_a_circle, model, {"val_loss", {1}}), IoError);
  ModelCheckpoint without_value((folder / "{val_acc}.weights.h5").string(), {.save_weights_only = true});
  EXPECT_THROW(run(without_value, model, {"val_loss", {1}}), NotFoundError);
}

TEST(HistoryCallback, ThatFitReturnsHoldsNoModel) {
  const Model model = small_model();
  const History history = model.fit(Tensor::ones({4, 2}), Tensor::ones({4, 1}), {.epochs = 2, .verbose = 0});
  EXPECT_THROW(history.model(), StateError);
  EXPECT_EQ(history["loss"].size(), 2u);
}

TEST(CallbackDefaults, AreThoseOfKeras) {
  const EarlyStoppingConfig stopping;
  EXPECT_EQ(stopping.monitor, "val_loss");
  EXPECT_EQ(stopping.patience, 0);
  EXPECT_TRUE(std::isnan(stopping.baseline));
  const ReduceLROnPlateauConfig reduce;
  EXPECT_EQ(reduce.factor, 0.1);
  EXPECT_EQ(reduce.patience, 10);
  EXPECT_EQ(reduce.min_delta, 1e-4);
  const ModelCheckpointConfig checkpoint;
  EXPECT_EQ(checkpoint.monitor, "val_loss");
  EXPECT_TRUE(checkpoint.save_freq.every_epoch());
  EXPECT_FALSE(checkpoint.save_weights_only);
  EXPECT_EQ(CSVLoggerConfig().separator, ",");
}

}  // namespace
}  // namespace nyala
