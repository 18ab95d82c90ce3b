// attack_threads [seconds] [seed]: threads predict with one model, save it and its weights, load files,
// train models of their own on one device and on two, and make new ones, all at the same time. Each must get
// the numbers that it gets alone, bit by bit, and no error.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <nyala/nyala.h>

using namespace nyala;
namespace fs = std::filesystem;

namespace {

using Floats = std::vector<float>;

Tensor numbers(const Shape& shape, double step) {
  Floats values;
  for (int64_t i = 0; i < shape.num_elements(); ++i)
    values.push_back(static_cast<float>(std::sin(static_cast<double>(i) * step)));
  return Tensor::from(values).with_shape(shape);
}

Model make_model() {
  const Sequential model({Input({10, 10, 3}), Conv2D(8, 3, {.activation = "relu"}), BatchNormalization(),
                          MaxPooling2D(2), Flatten(), Dense(16, {.activation = "tanh"}), Dropout(0.3),
                          Dense(3)});
  model.compile({.optimizer = Adam(0.01), .loss = "mse"});
  return model;
}

/// What all threads work with.
struct Shared {
  Tensor x = numbers({24, 10, 10, 3}, 0.37), y = numbers({24, 3}, 0.11);
  Model model = make_model();
  std::string folder;

  Floats predict(const Model& of) const {
    return of.predict(x, {.batch_size = 7, .verbose = 0}).to_vector<float>();
  }
};

/// Trains a fresh model with the weights of the shared one; keys of random numbers are the model's own, so
/// only models without them give the same bits each time.
Floats trained(const Shared& shared, const std::vector<std::string>& devices) {
  return MirroredStrategy({.devices = devices}).scope([&] {
    const Sequential model({Input({10, 10, 3}), Conv2D(8, 3, {.activation = "relu"}), Flatten(), Dense(3)});
    std::vector<Tensor> weights;
    for (const Tensor& value : model.get_weights()) weights.push_back(numbers(value.shape(), 0.7) * 0.1);
    model.set_weights(weights);
    model.compile({.optimizer = Adam(0.01), .loss = "mse"});
    model.fit(shared.x, shared.y, {.batch_size = 8, .epochs = 2, .verbose = 0, .shuffle = false});
    return shared.predict(model);
  });
}

Floats saved_and_loaded(const Shared& shared, const std::string& ending) {
  static std::atomic<int> counter{0};
  const std::string path = shared.folder + "/" + std::to_string(counter++) + ending;
  Model read = make_model();
  if (ending == ".keras" || ending == ".h5") {
    shared.model.save(path);
    read = load_model(path);
  } else {
    shared.model.save_weights(path);
    read.load_weights(path);
  }
  fs::remove(path);
  return shared.predict(read);
}

struct Work {
  const char* what;
  std::function<Floats()> result;
};

std::vector<Work> all_work(const Shared& shared) {
  return {{"predict with one model", [&] { return shared.predict(shared.model); }},
          {"save .keras and load", [&] { return saved_and_loaded(shared, ".keras"); }},
          {"save .h5 and load", [&] { return saved_and_loaded(shared, ".h5"); }},
          {"save .weights.h5 and load", [&] { return saved_and_loaded(shared, ".weights.h5"); }},
          {"save .safetensors and load", [&] { return saved_and_loaded(shared, ".safetensors"); }},
          {"train", [&] { return trained(shared, {"cpu:0"}); }},
          {"train on two devices",
           [&] {
             return trained(shared, {"cpu:0", "cpu:1"});
           }},
          {"clone and evaluate", [&] {
             const Model other = clone_model(shared.model);
             other.set_weights(shared.model.get_weights());
             other.compile({.loss = "mse"});
             return Floats{static_cast<float>(other.evaluate(shared.x, shared.y, {.verbose = 0})["loss"])};
           }}};
}

}  // namespace

int main(int count, char** arguments) {
  const double seconds = count > 1 ? std::atof(arguments[1]) : 5;
  const unsigned seed = count > 2 ? static_cast<unsigned>(std::atoi(arguments[2])) : 1;
  configure_logical_devices("cpu", 2);
  set_random_seed(seed);
  Shared shared;
  shared.folder = (fs::temp_directory_path() / ("nyala_threads_" + std::to_string(::getpid()))).string();
  fs::create_directories(shared.folder);
  const std::vector<Work> work = all_work(shared);
  std::vector<Floats> expected;
  for (const Work& one : work) expected.push_back(one.result());
  std::atomic<int> bad{0};
  std::vector<std::atomic<int>> done(work.size());
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  const auto run = [&](unsigned thread) {
    std::mt19937 random(seed * 100 + thread);
    while (std::chrono::steady_clock::now() < end) {
      const size_t i = random() % work.size();
      try {
        if (work[i].result() != expected[i]) {
          ++bad;
          std::printf("other numbers: %s\n", work[i].what);
        }
      } catch (const std::exception& error) {
        ++bad;
        std::printf("%s: %s\n", work[i].what, error.what());
      }
      ++done[i];
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 6; ++i) threads.emplace_back(run, i);
  for (std::thread& thread : threads) thread.join();
  fs::remove_all(shared.folder);
  std::printf("%.1f s, seed %u, %d failures\n", seconds, seed, bad.load());
  for (size_t i = 0; i < work.size(); ++i) std::printf("%6d  %s\n", done[i].load(), work[i].what);
  return bad == 0 ? 0 : 1;
}
