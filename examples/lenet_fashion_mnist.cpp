// Trains a LeNet on Fashion-MNIST on two devices, saves a checkpoint, loads it under another strategy and shows that
// both models evaluate to the same numbers.
#include <nyala/nyala.h>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <string>

using namespace nyala;

namespace {

Sequential make_lenet() {
  Sequential net({Input({28, 28, 1}), Rescaling(1 / 255.0),
                  Conv2D(20, 3, {.activation = "relu"}), AveragePooling2D(2),
                  Conv2D(50, 5, {.activation = "relu"}), AveragePooling2D(2),
                  Flatten(), Dense(128, {.activation = "relu"}), Dense(10)});
  net.compile({.optimizer = Adam({.learning_rate = 2e-3}),
               .loss = SparseCategoricalCrossentropy({.from_logits = true}),
               .metrics = {"accuracy"}});
  return net;
}

bool same(double a, double b) { return std::abs(a - b) <= 1e-6 * std::abs(a); }

}  // namespace

int main(int argc, char** argv) try {
  const int epochs = argc > 1 ? std::atoi(argv[1]) : 5;
  set_random_seed(1);
  configure_logical_devices("cpu", 2);                        // a laptop becomes two devices
  auto [train, test] = datasets::fashion_mnist();             // Arrays: uint8 images, int labels
  MirroredStrategy strategy({.devices = {"cpu:0", "cpu:1"}});
  std::cout << strategy.describe() << "\n";
  auto model = strategy.scope(make_lenet);
  model.summary();
  History history = model.fit(train, {.batch_size = 256, .epochs = epochs,
                                      .callbacks = {ModelCheckpoint("lenet.weights.h5", {.save_weights_only = true})},
                                      .validation_data = test});

  auto restored = OneDeviceStrategy("cpu:0").scope(make_lenet);
  restored.load_weights("lenet.weights.h5");
  const Logs here = model.evaluate(test, {.batch_size = 256, .verbose = 0});
  const Logs there = restored.evaluate(test, {.batch_size = 256, .verbose = 0});
  std::cout << "validation accuracy after " << epochs << " epochs: " << history["val_accuracy"].back() << "\n"
            << "two devices: loss " << here["loss"] << ", accuracy " << here["accuracy"] << "\n"
            << "one device:  loss " << there["loss"] << ", accuracy " << there["accuracy"] << "\n";
  if (!same(here["loss"], there["loss"]) || !same(here["accuracy"], there["accuracy"])) {
    std::cerr << "the restored model does not evaluate to the same numbers\n";
    return 1;
  }
  return 0;
} catch (const nyala::Error& error) {
  std::cerr << "error: " << error.what() << "\n";
  return 1;
}
