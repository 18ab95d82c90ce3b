// Small programs from their first line to their last, as somebody writes them who never heard of threads:
// what they take on cores that others use, too (compare_busy_cores.py). One JSON line each.
#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include <nyala/nyala.h>

using namespace nyala;

namespace {

Tensor random_tensor(const Shape& shape, uint64_t seed) {
  DrawStream random(seed);
  std::vector<float> values(static_cast<size_t>(shape.num_elements()));
  for (float& value : values) value = static_cast<float>(random.uniform());
  return Tensor::from(values, shape);
}

Tensor random_numbers_below(int64_t end, const Shape& shape, uint64_t seed) {
  DrawStream random(seed);
  std::vector<int64_t> values(static_cast<size_t>(shape.num_elements()));
  for (int64_t& value : values) value = static_cast<int64_t>(random.below(static_cast<uint64_t>(end)));
  return Tensor::from(values, shape);
}

void regression() {
  Sequential model({Dense(64, {.activation = "relu"}), Dense(64, {.activation = "relu"}), Dense(1)});
  model.compile({.optimizer = "adam", .loss = "mse", .metrics = {"mae"}});
  model.fit(random_tensor({2000, 13}, 1), random_tensor({2000, 1}, 2),
            {.batch_size = 32, .epochs = 10, .verbose = 0});
}

void autoencoder() {
  const auto x = Input({784});
  auto code = Dense(512, {.activation = "relu"})(x);
  code = GaussianNoise(1.0)(Dense(8)(Dense(128, {.activation = "relu"})(code)));
  auto y = Dense(512, {.activation = "relu"})(Dense(128, {.activation = "relu"})(code));
  Model model(x, Dense(784, {.activation = "sigmoid"})(y));
  model.compile({.optimizer = "adam", .loss = "binary_crossentropy"});
  const Tensor images = random_tensor({2560, 784}, 3);
  model.fit(images, images, {.batch_size = 64, .epochs = 4, .verbose = 0});
}

void convolutional_autoencoder() {
  const auto x = Input({28, 28, 1});
  auto code = Conv2D(32, 3, {.strides = 2, .padding = "same", .activation = "relu"})(x);
  code = Conv2D(64, 3, {.strides = 2, .padding = "same", .activation = "relu"})(code);
  code = GaussianNoise(1.0)(Dense(2)(Dense(16, {.activation = "relu"})(Flatten()(code))));
  auto y = Reshape({7, 7, 64})(Dense(7 * 7 * 64, {.activation = "relu"})(code));
  y = Conv2DTranspose(64, 3, {.strides = 2, .padding = "same", .activation = "relu"})(y);
  y = Conv2DTranspose(32, 3, {.strides = 2, .padding = "same", .activation = "relu"})(y);
  Model model(x, Conv2DTranspose(1, 3, {.padding = "same", .activation = "sigmoid"})(y));
  model.compile({.optimizer = "adam", .loss = "binary_crossentropy"});
  const Tensor images = random_tensor({1280, 28, 28, 1}, 4);
  model.fit(images, images, {.batch_size = 128, .epochs = 2, .verbose = 0});
}

void text_service() {
  Sequential model({Embedding(5000, 32), GlobalAveragePooling1D(), Dense(16, {.activation = "relu"}),
                    Dense(1, {.activation = "sigmoid"})});
  for (uint64_t request = 0; request < 2000; ++request)
    model.predict(random_numbers_below(5000, {8, 100}, request), {.verbose = 0});
}

void image_service() {
  Sequential model({Conv2D(32, 3, {.activation = "relu"}), MaxPooling2D(2),
                    Conv2D(64, 3, {.activation = "relu"}), MaxPooling2D(2), Flatten(),
                    Dense(128, {.activation = "relu"}), Dense(10)});
  for (uint64_t request = 0; request < 500; ++request)
    model.predict(random_tensor({4, 28, 28, 1}, request), {.verbose = 0});
}

void recurrent() {
  Sequential model({Embedding(2000, 32), LSTM(32), Dense(1, {.activation = "sigmoid"})});
  model.compile({.optimizer = "rmsprop", .loss = "binary_crossentropy", .metrics = {"accuracy"}});
  model.fit(random_numbers_below(2000, {640, 40}, 5), random_numbers_below(2, {640, 1}, 6),
            {.batch_size = 32, .epochs = 4, .verbose = 0});
}

const std::map<std::string, std::function<void()>>& programs() {
  static const std::map<std::string, std::function<void()>> all{
      {"regression", regression},
      {"autoencoder", autoencoder},
      {"convolutional_autoencoder", convolutional_autoencoder},
      {"text_service", text_service},
      {"image_service", image_service},
      {"recurrent", recurrent}};
  return all;
}

double seconds_on(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const auto& [name, body] : programs()) all.push_back(name);
  return all;
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app("One small program");
  std::string name;
  app.add_option("program", name)->required()->check(CLI::IsMember(names()));
  CLI11_PARSE(app, argc, argv);
  const double start = seconds_on(CLOCK_MONOTONIC);
  set_random_seed(1);
  programs().at(name)();
  std::printf("{\"program\": \"%s\", \"seconds\": %.4f, \"cpu_seconds\": %.4f}\n", name.c_str(),
              seconds_on(CLOCK_MONOTONIC) - start, seconds_on(CLOCK_PROCESS_CPUTIME_ID));
  return 0;
} catch (const nyala::Error& error) {
  std::cerr << "error: " << error.what() << "\n";
  return 1;
}
