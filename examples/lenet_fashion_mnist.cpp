// Trains a LeNet on Fashion-MNIST on two devices, saves a checkpoint after every epoch, loads it under
// another strategy and shows that both models evaluate to the same numbers.
#include <nyala/nyala.h>

#include <cmath>
#include <cstdio>

using namespace nyala;

bool same(double a, double b) { return std::abs(a - b) <= 1e-6 * std::abs(a); }

// clang-format off: these lines stand in the README
int main() {
  set_random_seed(1);
  configure_logical_devices("cpu", 2);                        // a laptop becomes two devices
  auto [train, test] = datasets::fashion_mnist();             // Arrays: uint8 images, int labels
  MirroredStrategy strategy({.devices = {"cpu:0", "cpu:1"}});
  auto make_lenet = [] {
    Sequential net({Input({28, 28, 1}), Rescaling(1 / 255.0),
                    Conv2D(20, 3, {.activation = "relu"}), AveragePooling2D(2),
                    Conv2D(50, 5, {.activation = "relu"}), AveragePooling2D(2),
                    Flatten(), Dense(128, {.activation = "relu"}), Dense(10)});
    net.compile({.optimizer = Adam({.learning_rate = 2e-3}),
                 .loss = SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"}});
    return net;
  };
  auto model = strategy.scope(make_lenet);
  model.summary();
  History history = model.fit(train, {.batch_size = 256, .epochs = 5,
                                      .callbacks = {ModelCheckpoint("lenet.weights.h5", {.save_weights_only = true})},
                                      .validation_data = test});

  auto restored = OneDeviceStrategy("cpu:0").scope(make_lenet);
  restored.load_weights("lenet.weights.h5");
  const Logs two = model.evaluate(test, {.batch_size = 256, .verbose = 0});
  const Logs one = restored.evaluate(test, {.batch_size = 256, .verbose = 0});
  std::printf("validation accuracy: %.4f\n", history["val_accuracy"].back());
  std::printf("two devices: loss %.9f, accuracy %.4f\n", two["loss"], two["accuracy"]);
  std::printf("one device, from the checkpoint: loss %.9f, accuracy %.4f\n", one["loss"], one["accuracy"]);
  return same(two["loss"], one["loss"]) && same(two["accuracy"], one["accuracy"]) ? 0 : 1;
}
