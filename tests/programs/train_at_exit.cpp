// train_at_exit <folder>: trains, saves and loads a model in a function of atexit() and in the destructor of
// a static object, which run after the library's own static objects, made later, would be gone. Ends with 1
// where something throws.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>

#include <nyala/nyala.h>

namespace {

using namespace nyala;

std::string g_folder;

void use(const Model& model, const char* when) {
  try {
    const Tensor x = Tensor::ones({8, 4}), y = Tensor::zeros({8, 2});
    const FitConfig quiet = {.epochs = 2, .verbose = 0, .callbacks = {TerminateOnNaN()}};
    model.fit(x, y, quiet);
    model.train_on_batch(x, y)["loss"];
    const std::string path = g_folder + "/at_exit.keras", weights = g_folder + "/at_exit.weights.h5";
    model.save(path);
    model.save_weights(weights);
    model.load_weights(weights);
    const Model loaded = load_model(path);
    loaded.fit(x, y, quiet);
    const Sequential fresh({Input({4}), Dense(2, {.activation = "softmax", .kernel_regularizer = "l2"})});
    fresh.compile({.optimizer = "adam", .loss = "mse", .metrics = {"mae"}});
    fresh.fit(x, y, quiet);
    const MirroredStrategy two({.devices = {"cpu:0", "cpu:1"}});
    two.adopt(loaded);
    loaded.fit(x, y, quiet);
    make_parallel([](const NamedInputs& in) { return in["x"] * 2.0; }, 2, {{"x", x}});
    std::printf("%s: done\n", when);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", when, error.what());
    std::_Exit(1);
  }
}

/// Its kernels are made by nobody else, so that they are made after everything that is destroyed before it.
struct Late {
  bool trains = false;
  ~Late() {
    if (!trains) return;
    const Sequential model({Input({5}), Dense(7, {.activation = "relu"}), Dense(3)});
    model.compile({.optimizer = "adam", .loss = "mse"});
    model.fit(Tensor::ones({11, 5}), Tensor::ones({11, 3}), {.verbose = 0});
    std::printf("static object: done\n");
  }
};

Late g_late;

struct Holder {
  std::optional<Model> model = {};
  ~Holder() {
    if (model) use(*model, "destructor");
  }
};

Holder g_holder;

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  g_folder = arguments[1];
  std::atexit([] { use(*g_holder.model, "atexit"); });
  configure_logical_devices("cpu", 2);
  g_holder.model = Sequential({Input({4}), Dense(8, {.activation = "tanh"}), Dense(2)});
  g_holder.model->compile({.optimizer = "adam", .loss = "mse", .metrics = {"mae"}});
  use(*g_holder.model, "main");
  g_late.trains = true;
}
