// Trains a LeNet on Fashion-MNIST on two devices, saves a checkpoint after every epoch, loads it under
// another strategy and shows that both models evaluate to the same numbers.
// --strategy one_device|mirrored|central_storage|multi_worker|parameter_server|synchronous_parameter_server:
// another one than mirrored.
// For several processes: nyala launch -n 3 -- ./lenet_fashion_mnist --strategy multi_worker, or
// nyala launch --ps 2 --workers 3 --chief -- ./lenet_fashion_mnist --strategy parameter_server
// --rows N: of the first N pictures only. --seed N: another than 1.
// --dtype NAME: a dtype policy, such as mixed_bfloat16.
#include <nyala/nyala.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

using namespace nyala;

/// Up to the order of sums, which in a dtype of few digits may round an activation to the other side.
bool same(double a, double b) {
  const double tolerance = dtype_policy().compute_dtype() == DType::float32 ? 1e-6 : 2e-3;
  return std::abs(a - b) <= tolerance * std::abs(a);
}

/// The word behind `name`, if it is there.
std::string option(int argc, char** argv, const std::string& name, const std::string& otherwise) {
  for (int i = 1; i + 1 < argc; ++i)
    if (argv[i] == name) return argv[i + 1];
  return otherwise;
}

/// Of several processes only the first one tells what it does.
void be_silent() {
  set_output([](std::string_view) {});
  if (!std::freopen("/dev/null", "w", stdout)) std::exit(1);
}

/// By that name.
Strategy chosen_strategy(const std::string& name) {
  if (name == "one_device") return OneDeviceStrategy("cpu:0");
  if (name == "mirrored") return MirroredStrategy({.devices = {"cpu:0", "cpu:1"}});
  if (name == "central_storage") return CentralStorageStrategy({.compute_devices = {"cpu:0", "cpu:1"}});
  if (name == "parameter_server" || name == "synchronous_parameter_server") {
    const ParameterServerStrategy strategy(
        {.devices = {"cpu:0"}, .synchronous = name == "synchronous_parameter_server"});
    if (!strategy.is_chief()) be_silent();
    return strategy;
  }
  if (name == "multi_worker") {
    const MultiWorkerMirroredStrategy strategy({.devices = {"cpu:0", "cpu:1"}});
    if (!strategy.is_chief()) be_silent();
    return strategy;
  }
  std::fprintf(stderr, "--strategy: expected one_device, mirrored, central_storage, multi_worker, "
                       "parameter_server or synchronous_parameter_server: %s\n", name.c_str());
  std::exit(2);
}

// clang-format off: these lines stand in the README
int main(int argc, char** argv) {
  if (is_parameter_server()) return serve_parameters();       // elsewhere false
  set_random_seed(std::stoull(option(argc, argv, "--seed", "1")));
  configure_logical_devices("cpu", 2);                        // a laptop becomes two devices
  auto [train, test] = datasets::fashion_mnist();             // Arrays: uint8 images, int labels
  Strategy strategy = MirroredStrategy({.devices = {"cpu:0", "cpu:1"}});
  strategy = chosen_strategy(option(argc, argv, "--strategy", "mirrored"));
  for (Arrays* part : {&train, &test}) {
    const int64_t rows =
        std::min<int64_t>(std::stoll(option(argc, argv, "--rows", "60000")), part->x.shape()[0]);
    *part = {part->x.rows(0, rows), part->y.rows(0, rows)};
  }
  set_dtype_policy(option(argc, argv, "--dtype", "float32"));
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
  std::printf("%s: loss %.9f, accuracy %.4f\n", option(argc, argv, "--strategy", "two devices").c_str(),
              two["loss"], two["accuracy"]);
  std::printf("one device, from the checkpoint: loss %.9f, accuracy %.4f\n", one["loss"], one["accuracy"]);
  return same(two["loss"], one["loss"]) && same(two["accuracy"], one["accuracy"]) ? 0 : 1;
}
