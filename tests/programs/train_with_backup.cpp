// train_with_backup <folder> <replicas> <seed>: trains with BackupAndRestore(<folder>/backup) and saves the
// weights as <folder>/final.weights.h5. Only the first start makes weights from the seed that counts; later
// ones must take everything from the backup.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include <nyala/api/callbacks/backup_and_restore.h>
#include <nyala/api/layers/all.h>
#include <nyala/api/losses/all.h>
#include <nyala/api/model/model.h>
#include <nyala/api/optimizers/all.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/backend/runtime/random.h>
#include <nyala/strategies/mirrored.h>

namespace {

using namespace nyala::detail;

using namespace nyala;

constexpr int64_t kRows = 500, kFeatures = 20;

Arrays data() {
  DrawStream generator(3);
  std::vector<float> x(static_cast<size_t>(kRows * kFeatures));
  for (float& value : x) value = static_cast<float>(generator.normal());
  std::vector<int64_t> y(static_cast<size_t>(kRows));
  for (int64_t& label : y) label = static_cast<int64_t>(generator.below(4));
  return {Tensor::from(x, {kRows, kFeatures}), Tensor::from(y)};
}

MirroredStrategy strategy_of(int replicas) {
  configure_logical_devices("cpu", replicas);
  std::vector<std::string> devices;
  for (int i = 0; i < replicas; ++i) devices.push_back("cpu:" + std::to_string(i));
  return MirroredStrategy({.devices = devices});
}

void train(const std::string& folder, int replicas) {
  const MirroredStrategy strategy = strategy_of(replicas);
  const auto scope = strategy.scope();
  const Sequential model({Input({kFeatures}), Dense(64, {.activation = "relu"}), BatchNormalization(),
                          Dropout(0.4), Dense(32, {.activation = "tanh"}), Dense(4)});
  model.compile({.optimizer = Adam({.learning_rate = 0.005, .gradient_accumulation_steps = 3}),
                 .loss = SparseCategoricalCrossentropy({.from_logits = true})});
  model.fit(
      data(),
      {.batch_size = 16,
       .epochs = 12,
       .verbose = 0,
       .callbacks = {BackupAndRestore(folder + "/backup", {.save_freq = 5, .delete_checkpoint = false})}});
  model.save_weights(folder + "/final.weights.h5");
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) return 2;
  try {
    set_random_seed(static_cast<uint64_t>(std::atoll(arguments[3])));
    train(arguments[1], std::atoi(arguments[2]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
