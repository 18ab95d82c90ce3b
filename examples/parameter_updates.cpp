// Where do updated weights come from? The same training three ways: every device holds the weights and all
// sum their gradients directly; the same with a ring, in which each device talks to one neighbour; and
// central storage, where one device holds the weights and does the update for all. Prints that the weights
// agree and what a step costs.
#include <nyala/nyala.h>

#include <chrono>
#include <cmath>
#include <cstdio>

using namespace nyala;

Model make_net() {
  set_random_seed(1);
  Sequential net({Input({28, 28, 1}), Rescaling(1 / 255.0), Conv2D(20, 3, {.activation = "relu"}),
                  AveragePooling2D(2), Conv2D(50, 5, {.activation = "relu"}), AveragePooling2D(2), Flatten(),
                  Dense(128, {.activation = "relu"}), Dense(10)});
  net.compile({.optimizer = SGD({.learning_rate = 0.05, .momentum = 0.9, .clipnorm = 1.0}),
               .loss = SparseCategoricalCrossentropy({.from_logits = true})});
  return net;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct Way {
  const char* name;
  Strategy strategy;
};

int main(int argc, char** argv) {
  const int64_t rows = argc > 1 ? std::atoll(argv[1]) : 12800, batch = 256;
  configure_logical_devices("cpu", 2);
  const Arrays all = datasets::fashion_mnist().train;
  const Arrays train = {all.x.rows(0, rows), all.y.rows(0, rows)};
  const std::vector<std::string> devices = {"cpu:0", "cpu:1"};
  const std::vector<Way> ways = {
      {"all-reduce", MirroredStrategy({.devices = devices, .shared_weights = SharedWeights::never})},
      {"ring all-reduce", MirroredStrategy({.devices = devices,
                                            .cross_device_ops = RingAllReduce(),
                                            .shared_weights = SharedWeights::never})},
      {"central storage", CentralStorageStrategy({.compute_devices = devices, .parameter_device = "cpu:0"})}};
  Tensors first;
  double largest = 0.0;
  for (const Way& way : ways) {
    const Model net = way.strategy.scope(make_net);
    way.strategy.profile();
    const auto start = std::chrono::steady_clock::now();
    const History history =
        net.fit(train, {.batch_size = batch, .epochs = 2, .verbose = 0, .shuffle = false});
    const double steps = 2.0 * std::ceil(static_cast<double>(rows) / static_cast<double>(batch));
    const Tensors weights = net.get_weights();
    if (first.empty()) first = weights;
    for (size_t i = 0; i < weights.size(); ++i)
      largest = std::max(largest, ops::max(ops::absolute(weights[i] - first[i])).item());
    std::printf("%-15s  loss %.4f, %.1f ms per step: %s\n", way.name, history["loss"].back(),
                1e3 * seconds_since(start) / steps, way.strategy.step_times().to_string().c_str());
  }
  std::printf("largest difference of a weight: %.1e\n", largest);
  return largest < 1e-4 ? 0 : 1;
}
