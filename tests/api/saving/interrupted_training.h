#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/api/callbacks/backup_and_restore.h>
#include <nyala/api/callbacks/learning_rate_scheduler.h>
#include <nyala/api/layers/all.h>
#include <nyala/api/losses/all.h>
#include <nyala/api/model/model.h>
#include <nyala/api/optimizers/all.h>
#include <nyala/api/schedules/all.h>
#include <nyala/backend/runtime/random.h>
#include <nyala/strategies/mirrored.h>
#include <nyala/strategies/one_device.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala::interrupted {

inline constexpr int64_t kRows = 61, kFeatures = 10, kClasses = 3, kBatch = 8;
inline constexpr int kEpochs = 3;

inline Tensor random_rows(uint64_t seed, int64_t width) {
  DrawStream generator(seed);
  std::vector<float> values(static_cast<size_t>(kRows * width));
  for (float& value : values) value = static_cast<float>(generator.normal());
  return Tensor::from(values, {kRows, width});
}

inline Tensor random_labels(uint64_t seed) {
  DrawStream generator(seed);
  std::vector<int64_t> values(static_cast<size_t>(kRows));
  for (int64_t& value : values) value = static_cast<int64_t>(generator.below(kClasses));
  return Tensor::from(values);
}

inline const Tensor& x() {
  static const Tensor rows = random_rows(5, kFeatures);
  return rows;
}
inline const Tensor& y() {
  static const Tensor labels = random_labels(6);
  return labels;
}

/// A training that may be interrupted.
struct Training {
  int replicas = 1;
  std::string device_kind = "cpu";
  SharedWeights shared_weights = SharedWeights::automatic;
  std::function<Optimizer()> optimizer = [] { return Adam({.learning_rate = 0.01}); };
  int64_t save_freq = 0;
  int64_t steps_per_epoch = 0;
  int64_t steps_per_execution = 1;
  std::optional<Dataset> dataset = {};
  bool validation = false;
  bool halves_rate = false;  // with each epoch
};

inline Strategy strategy_of(const Training& training) {
  if (training.replicas == 1) return OneDeviceStrategy(training.device_kind + ":0");
  std::vector<std::string> devices;
  for (int i = 0; i < training.replicas; ++i)
    devices.push_back(training.device_kind + ":" + std::to_string(i));
  return MirroredStrategy({.devices = devices, .shared_weights = training.shared_weights});
}

inline Model model_of(const Training& training) {
  return strategy_of(training).scope([&] {
    const Sequential model({Input({kFeatures}), Dense(16, {.activation = "relu"}), BatchNormalization(),
                            Dropout(0.3), Dense(12, {.activation = "tanh"}), Dropout(0.2), Dense(kClasses)});
    model.compile({.optimizer = training.optimizer(),
                   .loss = SparseCategoricalCrossentropy({.from_logits = true}),
                   .metrics = {"accuracy"},
                   .steps_per_execution = training.steps_per_execution});
    return Model(model);
  });
}

struct Interruption : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};

/// Throws in the middle of training.
class Interrupt : public Callback {
 public:
  Interrupt(int epoch, int64_t batch) : epoch_(epoch), batch_(batch) {}
  void on_epoch_begin(int epoch, Logs&) override { now_ = epoch; }
  void on_train_batch_end(int64_t batch, Logs&) override {
    if (now_ == epoch_ && batch >= batch_) throw Interruption();
  }

 private:
  int epoch_, now_ = 0;
  int64_t batch_;
};

inline History fit(const Model& model, const Training& training, std::vector<CallbackArgument> callbacks) {
  FitConfig config{.batch_size = training.dataset ? 0 : kBatch, .epochs = kEpochs, .verbose = 0};
  config.callbacks = std::move(callbacks);
  if (training.halves_rate)
    config.callbacks.push_back(LearningRateScheduler([](int, double rate) { return rate / 2; }));
  config.steps_per_epoch = training.steps_per_epoch;
  if (training.validation) config.validation_data = DataArgument(x(), y());
  return training.dataset ? model.fit(*training.dataset, config) : model.fit(x(), y(), config);
}

/// Every bit of weights and optimizer state.
inline std::vector<std::vector<uint8_t>> bits_of(const Model& model) {
  Tensors all = model.get_weights();
  for (const OptimizerVariable& variable : model.optimizer().node().variables_for_file())
    all.push_back(variable.value);
  std::vector<std::vector<uint8_t>> bits;
  for (const Tensor& tensor : all) tensor.copy_to_host(bits.emplace_back(tensor.bytes()).data());
  return bits;
}

/// The last epochs of `whole` are those of `rest`, bit by bit.
inline void expect_same_end(const History& whole, const History& rest) {
  ASSERT_EQ(whole.history().size(), rest.history().size());
  for (const auto& [name, values] : rest.history()) {
    const std::vector<double>& all = whole[name];
    ASSERT_LE(values.size(), all.size());
    EXPECT_EQ(std::vector<double>(all.end() - static_cast<std::ptrdiff_t>(values.size()), all.end()), values)
        << name;
  }
}

/// Trains once without and once with an interruption, and compares.
inline void expect_resumes(const Training& training, int epoch, int64_t batch) {
  const ScratchFolder folder("resume");
  set_random_seed(11);
  const Model whole = model_of(training);
  const History expected = fit(whole, training, {});
  set_random_seed(11);
  const Model first = model_of(training);
  const BackupAndRestore backup(folder.file("backup"), {.save_freq = training.save_freq});
  EXPECT_THROW(fit(first, training, {BackupAndRestore(backup), Interrupt(epoch, batch)}), Interruption);
  ASSERT_TRUE(std::filesystem::exists(folder.file("backup/latest.weights.h5")));
  set_random_seed(999);  // nothing of the new process' own random state may matter
  const Model second = model_of(training);
  ASSERT_NE(bits_of(second), bits_of(first));
  const History rest = fit(second, training, {BackupAndRestore(backup)});
  EXPECT_EQ(bits_of(second), bits_of(whole));
  expect_same_end(expected, rest);
  EXPECT_EQ(rest.epoch().back(), kEpochs - 1);
  EXPECT_FALSE(std::filesystem::exists(folder.file("backup")));
}

inline Optimizer accumulating() { return Adam({.learning_rate = 0.01, .gradient_accumulation_steps = 3}); }
inline Optimizer with_schedule() {
  return SGD({.learning_rate = ExponentialDecay(0.1, 5, 0.7), .momentum = 0.9, .clipnorm = 1.0});
}
inline Optimizer averaging() {
  return RMSprop({.learning_rate = 0.005, .momentum = 0.5, .use_ema = true, .ema_overwrite_frequency = 4});
}

}  // namespace nyala::interrupted
