// A plugin that trains, throws and prints by Nyala: see scripts/test_shared.sh.
#include <cstdio>
#include <string>

#include <nyala/nyala.h>

using namespace nyala;

namespace {

struct Doubling : LayerNode {
  std::string class_name() const override { return "Doubling"; }
  Tensor call(Call&, const Tensor& x) const override { return x * 2.0; }
};

}  // namespace

extern "C" int plugin_train(int devices) {
  try {
    if (devices > 1) configure_logical_devices("cpu", devices);
    MirroredStrategyConfig config;
    for (int i = 0; i < devices; ++i) config.devices.push_back("cpu:" + std::to_string(i));
    const Sequential net = MirroredStrategy(config).scope([] {
      Sequential made({Input({8}), Dense(16, {.activation = "relu"}), make_layer<Doubling>(), Dense(1)});
      made.compile({.optimizer = "adam", .loss = "mse"});
      return made;
    });
    return net.fit(Tensor::ones({64, 8}), Tensor::ones({64, 1}), {.epochs = 2, .verbose = 0})["loss"]
               .size() != 2;
  } catch (const Error& error) {
    std::printf("plugin: %s\n", error.what());
    return 1;
  }
}

extern "C" void plugin_throw() { throw ShapeError("from the plugin"); }
