#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/api/callbacks/csv_logger.h>
#include <nyala/api/saving/checkpoint.h>
#include <nyala/api/saving/weights/weights_file.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/files/hdf5/writer.h>
#include <nyala/nyala.h>
#include <nyala/tests/api/saving/interrupted_training.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala {
namespace {

using namespace interrupted;

class CheckpointTest : public testing::Test {
 protected:
  void SetUp() override {
    configure_logical_devices("cpu", 4);
    set_log_sink([this](LogChannel channel, std::string_view text) {
      if (channel == LogChannel::warning) warnings_ += std::string(text) + "\n";
    });
  }
  void TearDown() override {
    set_log_sink({});
    configure_logical_devices("cpu", 1);
  }

  ScratchFolder folder_{"checkpoint"};
  std::string warnings_;
};

TEST_F(CheckpointTest, AGeneratorCannotBeReplayed) {
  Training t;
  const Dataset rows = Dataset::from_tensor_slices(x(), y()).batch(kBatch);
  t.dataset = Dataset::from_generator(
      [rows] {
        auto iterator = std::make_shared<DatasetIterator>(rows.iterate());
        return [iterator](Element& element) { return iterator->next(element); };
      },
      {.batched = true});
  t.save_freq = 3;
  const BackupAndRestore backup(folder_.file("backup"), {.save_freq = 3});
  EXPECT_THROW(fit(model_of(t), t, {BackupAndRestore(backup), Interrupt(1, 5)}), Interruption);
  const Model second = model_of(t);
  const History rest = fit(second, t, {BackupAndRestore(backup)});
  EXPECT_NE(warnings_.find("cannot be replayed to batch 4 of epoch 2"), std::string::npos) << warnings_;
  EXPECT_EQ(rest.epoch(), (std::vector<int>{1, 2}));
  EXPECT_EQ(second.optimizer().iterations(), 12 + 16);  // the whole of epoch 2 again
}

/// Whole epochs from a generator resume like any other data.
TEST_F(CheckpointTest, AGeneratorResumesAtEpochs) {
  Training t;
  const Dataset rows = Dataset::from_tensor_slices(x(), y()).batch(kBatch);
  t.dataset = Dataset::from_generator(
      [rows] {
        auto iterator = std::make_shared<DatasetIterator>(rows.iterate());
        return [iterator](Element& element) { return iterator->next(element); };
      },
      {.batched = true});
  expect_resumes(t, 1, 5);
  EXPECT_EQ(warnings_, "");
}

/// What was saved under one number of replicas goes on under another one, within rounding.
TEST_F(CheckpointTest, AnyStrategyRestoresAnyOthers) {
  for (const auto& [from, to] : std::vector<std::pair<int, int>>{{3, 1}, {1, 3}, {2, 4}}) {
    Training t{.replicas = from};
    t.optimizer = accumulating;
    t.save_freq = 5;
    set_random_seed(4);
    const Model whole = model_of(t);
    const History expected = fit(whole, t, {});
    set_random_seed(4);
    const BackupAndRestore backup(folder_.file("backup"), {.save_freq = t.save_freq});
    const Model first = model_of(t);
    EXPECT_THROW(fit(first, t, {BackupAndRestore(backup), Interrupt(1, 5)}), Interruption);
    t.replicas = to;
    const Model second = model_of(t);
    Checkpoint(second).restore(folder_.file("backup/latest.weights.h5"));
    const History rest = fit(second, t, {BackupAndRestore(backup)});
    const Tensors a = whole.get_weights(), b = second.get_weights();
    for (size_t i = 0; i < a.size(); ++i)
      for (int64_t k = 0; k < a[i].num_elements(); ++k) {
        const float want = a[i].data<float>()[static_cast<size_t>(k)];
        EXPECT_NEAR(b[i].data<float>()[static_cast<size_t>(k)], want, 2e-4 + 1e-3 * std::abs(want));
      }
    ASSERT_EQ(rest["loss"].size(), 2u);
    for (size_t i = 0; i < 2; ++i) EXPECT_NEAR(rest["loss"][i], expected["loss"][i + 1], 1e-3);
  }
}

/// The same model gives the same bytes under every strategy: nothing of it is in the file.
TEST_F(CheckpointTest, WeightsFilesDoNotDependOnTheStrategy) {
  std::vector<std::string> contents;
  for (int replicas : {1, 3}) {
    clear_session();
    set_random_seed(8);
    model_of({.replicas = replicas}).save_weights(folder_.file("s.weights.h5"));
    std::ifstream file(folder_.file("s.weights.h5"), std::ios::binary);
    contents.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  EXPECT_EQ(contents[0], contents[1]);
  for (const char* word : {"cpu", "irrored", "replica", "trategy"})
    EXPECT_EQ(contents[1].find(word), std::string::npos) << word;
}

TEST_F(CheckpointTest, KeepsThePosition) {
  const Model model = model_of({});
  Checkpoint(model).save(folder_.file("c.weights.h5"), {7, 123456789012});
  const TrainingPosition position = Checkpoint(model).restore(folder_.file("c.weights.h5"));
  EXPECT_EQ(position.epoch, 7);
  EXPECT_EQ(position.batch, 123456789012);
}

TEST_F(CheckpointTest, TakesAPlainWeightsFileAndIsOne) {
  const Model a = model_of({}), b = model_of({}), c = model_of({});
  a.save_weights(folder_.file("plain.weights.h5"));
  const TrainingPosition position = Checkpoint(b).restore(folder_.file("plain.weights.h5"));
  EXPECT_EQ(position.epoch, 0);
  EXPECT_EQ(bits_of(b), bits_of(a));
  Checkpoint(a).save(folder_.file("checkpoint.weights.h5"), {3, 0});
  c.load_weights(folder_.file("checkpoint.weights.h5"));
  EXPECT_EQ(bits_of(c), bits_of(a));
  EXPECT_EQ(warnings_, "");
}

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(CheckpointTest, OtherModelsAreRefusedAndNothingChanges) {
  Training t;
  const std::string path = folder_.file("c.weights.h5");
  const Model saved = model_of(t);
  fit(saved, t, {});
  Checkpoint(saved).save(path, {1, 0});
  t.optimizer = with_schedule;
  const Model other_optimizer = model_of(t);
  const auto before = bits_of(other_optimizer);
  EXPECT_TRUE(mentions(error_text<ShapeError>([&] { Checkpoint(other_optimizer).restore(path); }),
                       "optimizer variables"));
  EXPECT_EQ(bits_of(other_optimizer), before);

  const Sequential less_random(
      {Input({kFeatures}), Dense(16), BatchNormalization(), Dropout(0.3), Dense(12), Dense(3)});
  less_random.compile({.optimizer = Adam(), .loss = "mse"});
  const auto fewer = bits_of(less_random);
  const std::string text = error_text<ShapeError>([&] { Checkpoint(less_random).restore(path); });
  EXPECT_TRUE(mentions(text, path) && mentions(text, "random state of 1 layers")) << text;
  EXPECT_EQ(bits_of(less_random), fewer);

  const Sequential wider({Input({kFeatures}), Dense(16), BatchNormalization(), Dropout(0.3),
                          Dense(13, {.name = "wide"}), Dropout(0.2), Dense(3)});
  wider.compile({.optimizer = Adam(), .loss = "mse"});
  const auto wide = bits_of(wider);
  const std::string shapes = error_text<ShapeError>([&] { Checkpoint(wider).restore(path); });
  EXPECT_TRUE(mentions(shapes, "'wide' (Dense)") && mentions(shapes, "(16, 13)") &&
              mentions(shapes, "(16, 12)"))
      << shapes;
  EXPECT_EQ(bits_of(wider), wide);
}

/// Whatever batch the training is lost in, an epoch that has ended is not ended again.
TEST_F(CheckpointTest, ALogHasEachEpochOnce) {
  for (const int64_t save_freq : {1, 3, 20})
    for (const int64_t batch : {0, 1, 5}) {
      SCOPED_TRACE(std::to_string(save_freq) + ", lost in batch " + std::to_string(batch));
      const ScratchFolder folder("log");
      const std::string log = folder.file("log.csv");
      const Training t;
      const auto train = [&](std::vector<CallbackArgument> more) {
        more.insert(more.begin(), CSVLogger(log, {.append = true}));
        more.push_back(BackupAndRestore(folder.file("backup"), {.save_freq = save_freq}));
        return fit(model_of(t), t, std::move(more));
      };
      EXPECT_THROW(train({Interrupt(1, batch)}), Interruption);
      train({});
      std::ifstream file(log);
      std::string epochs;
      for (std::string line; std::getline(file, line);) epochs += line.substr(0, line.find(',')) + " ";
      EXPECT_EQ(epochs, "epoch 0 1 2 ");
    }
}

/// Between CSVLogger and BackupAndRestore, at the end of an epoch.
class LostAfterTheRow final : public Callback {
 public:
  explicit LostAfterTheRow(int epoch) : epoch_(epoch) {}
  void on_epoch_end(int epoch, Logs&) override {
    if (epoch == epoch_) throw Interruption();
  }

 private:
  int epoch_;
};

TEST_F(CheckpointTest, ALogHasEachEpochOnceWhereTheBackupCameNoMore) {
  const ScratchFolder folder("log");
  const std::string log = folder.file("log.csv");
  std::ofstream(log, std::ios::binary) << "epoch,accuracy,loss\r\n0,0.5,9.5\r\n";  // of a training before
  const Training t;
  const auto train = [&](std::vector<CallbackArgument> more) {
    more.insert(more.begin(), CSVLogger(log, {.append = true}));
    more.push_back(BackupAndRestore(folder.file("backup"), {.save_freq = 2}));
    return fit(model_of(t), t, std::move(more));
  };
  const auto lines = [&] {
    std::ifstream file(log);
    std::vector<std::string> found;
    for (std::string line; std::getline(file, line);) found.push_back(line);
    return found;
  };
  const auto epochs = [&] {
    std::string text;
    for (const std::string& line : lines()) text += line.substr(0, line.find(',')) + " ";
    return text;
  };
  EXPECT_THROW(train({LostAfterTheRow(0)}), Interruption);
  EXPECT_EQ(epochs(), "epoch 0 0 ");
  const std::string lost = lines().back();
  EXPECT_THROW(train({LostAfterTheRow(1)}), Interruption);
  EXPECT_EQ(epochs(), "epoch 0 0 1 ");
  EXPECT_EQ(lines()[2], lost);
  const std::string row = lines().back();
  train({});
  EXPECT_EQ(epochs(), "epoch 0 0 1 2 ");
  EXPECT_EQ(lines()[1], "0,0.5,9.5\r");
  EXPECT_EQ(lines()[3], row);
}

/// Metrics of the interrupted epoch cannot go on where others were compiled; weights do.
TEST_F(CheckpointTest, OtherMetricsBeginAnew) {
  Training t;
  t.save_freq = 3;
  const BackupAndRestore backup(folder_.file("backup"), {.save_freq = 3});
  EXPECT_THROW(fit(model_of(t), t, {BackupAndRestore(backup), Interrupt(1, 5)}), Interruption);
  const Model second = model_of(t);
  second.compile({.optimizer = t.optimizer(), .loss = SparseCategoricalCrossentropy({.from_logits = true})});
  const History rest = fit(second, t, {BackupAndRestore(backup)});
  EXPECT_TRUE(mentions(warnings_, "other losses or metrics")) << warnings_;
  EXPECT_LT(rest["loss"][0], 3.0);
  EXPECT_GT(rest["loss"][0], 0.3);
}

TEST_F(CheckpointTest, AWrongLabelKeepsTheLastGoodBackup) {
  enable_ghost_device();
  Training t;
  t.device_kind = "ghost";  // training on CPUs throws at once
  const Model model = model_of(t);
  Checkpoint(model).save(folder_.file("c.weights.h5"), {1, 0});
  const auto size = std::filesystem::file_size(folder_.file("c.weights.h5"));
  model.train_on_batch(x().rows(0, 2), Tensor::from(std::vector<int64_t>{0, 17}));
  EXPECT_TRUE(mentions(error_text<NumericError>([&] {
                         Checkpoint(model).save(folder_.file("c.weights.h5"), {2, 0});
                       }),
                       "label 17"));
  EXPECT_EQ(Checkpoint(model).restore(folder_.file("c.weights.h5")).epoch, 1);
  EXPECT_EQ(std::filesystem::file_size(folder_.file("c.weights.h5")), size);
}

TEST_F(CheckpointTest, DamagedFilesAreNamed) {
  const Model model = model_of({});
  const std::string path = folder_.file("c.weights.h5");
  EXPECT_TRUE(mentions(error_text<IoError>([&] { Checkpoint(model).restore(path); }), path));
  std::ofstream(path) << "this is no HDF5";
  EXPECT_TRUE(mentions(error_text<FileFormatError>([&] { Checkpoint(model).restore(path); }), path));
  hdf5::Writer writer;
  write_weights(model, writer);
  writer.write_dataset<int64_t>("nyala_checkpoint/version", {1}, std::vector<int64_t>{99});
  writer.save(path);
  EXPECT_TRUE(mentions(error_text<FileFormatError>([&] { Checkpoint(model).restore(path); }), "found 99"));
}

TEST_F(CheckpointTest, BackupNeedsABuiltModelAndSaneOptions) {
  const Sequential model({Dense(3)});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const FitConfig config{.verbose = 0, .callbacks = {BackupAndRestore(folder_.file("backup"))}};
  EXPECT_TRUE(mentions(error_text<StateError>([&] { model.fit(x(), x(), config); }), "not built"));
  EXPECT_THROW(BackupAndRestore(""), InvalidArgumentError);
  EXPECT_THROW(BackupAndRestore("b", {.save_freq = -1}), InvalidArgumentError);
}

TEST_F(CheckpointTest, OtherFilesInTheBackupFolderStay) {
  Training t;
  std::filesystem::create_directories(folder_.file("backup"));
  std::ofstream(folder_.file("backup/notes.txt")) << "mine";
  fit(model_of(t), t, {BackupAndRestore(folder_.file("backup"))});
  EXPECT_TRUE(std::filesystem::exists(folder_.file("backup/notes.txt")));
  EXPECT_FALSE(std::filesystem::exists(folder_.file("backup/latest.weights.h5")));
  fit(model_of(t), t, {BackupAndRestore(folder_.file("backup"), {.delete_checkpoint = false})});
  EXPECT_TRUE(std::filesystem::exists(folder_.file("backup/latest.weights.h5")));
}

TEST_F(CheckpointTest, FoldersThatCannotBeMade) {
  Training t;
  std::ofstream(folder_.file("file")) << "a file";
  EXPECT_TRUE(
      mentions(error_text<IoError>([&] { fit(model_of(t), t, {BackupAndRestore(folder_.file("file/x"))}); }),
               folder_.file("file/x")));
  EXPECT_TRUE(
      mentions(error_text<IoError>([&] { Checkpoint(model_of(t)).save(folder_.file("none/c.weights.h5")); }),
               folder_.file("none/c.weights.h5")));
}

TEST(Checkpoint, StatefulLayersGoOnWithTheirState) {
  configure_logical_devices("cpu", 3);
  const ScratchFolder folder;
  const auto fit = [](const Model& model) {
    const Tensor x = ops::sin(ops::reshape(ops::arange(210.0), {35, 3, 2}));
    return model.fit(x, ops::sum(x, {1}), {.batch_size = 7, .verbose = 0, .shuffle = false}).last("loss");
  };
  const auto made = [](const Strategy& strategy) {
    return strategy.scope([] {
      set_random_seed(1);
      Sequential model({Input({3, 2}, {.batch_size = 7}), LSTM(4, {.stateful = true}), Dense(2)});
      model.compile({.optimizer = SGD(0.1), .loss = "mse"});
      return model;
    });
  };
  const Sequential alone = made(OneDeviceStrategy("cpu:0"));
  fit(alone);
  Checkpoint(alone).save(folder.file("stateful.weights.h5"));
  const double loss = fit(alone);
  for (const int devices : {1, 2, 3}) {
    const std::vector<std::string> names = {"cpu:0", "cpu:1", "cpu:2"};
    const MirroredStrategy strategy({.devices = {names.begin(), names.begin() + devices}});
    const Sequential restored = made(strategy);
    Checkpoint(restored).restore(folder.file("stateful.weights.h5"));
    EXPECT_NEAR(fit(restored), loss, 1e-6) << devices;
    Checkpoint(restored).save(folder.file("again.weights.h5"));
    const Sequential again = made(OneDeviceStrategy("cpu:0"));
    Checkpoint(again).restore(folder.file("again.weights.h5"));
    EXPECT_NEAR(fit(again), fit(restored), 1e-6) << devices;
  }
  configure_logical_devices("cpu", 1);
}

// A model that is made where a destroyed one lay has nothing of it: neither its variables' gradients, nor
// that these are lost.
TEST(Checkpoint, GoesOnInsideOfACycleOfAccumulationWhateverWasDestroyedBefore) {
  const ScratchFolder folder;
  const Tensor x = Tensor::ones({24, 5}), y = Tensor::ones({24, 1});
  const auto made = [](const Optimizer& optimizer) {
    Sequential model({Input({5}), Dense(6), Dense(4), Dense(1)});
    model.compile({.optimizer = optimizer, .loss = "mse"});
    return model;
  };
  for (int i = 0; i < 30; ++i) {
    made(RMSprop()).fit(x, y, {.verbose = 0});
    {
      const Sequential half = made(SGD({.gradient_accumulation_steps = 4}));
      for (int step = 0; step < 2; ++step) half.train_on_batch(x, y);
      Checkpoint(half).save(folder.file("half.weights.h5"));
    }
    made(RMSprop()).fit(x, y, {.verbose = 0});
    const Sequential restored = made(SGD({.gradient_accumulation_steps = 4}));
    Checkpoint(restored).restore(folder.file("half.weights.h5"));
    for (int step = 0; step < 4; ++step) ASSERT_NO_THROW(restored.train_on_batch(x, y)) << i;
  }
}

}  // namespace
}  // namespace nyala
