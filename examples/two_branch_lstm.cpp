// How many of two excerpts of 140 bytes are Shakespeare's rather than Plato's: 0, 1 or 2. Both go through one
// LSTM, each on a device of its own, at the same time; the LSTM has one set of weights, whose gradients from
// both devices are added.
//
// Reads text/tinyshakespeare.txt and text/republic_clean.txt from a data folder (NYALA_DATA_DIR, or
// ~/.nyala/datasets) and says so where they are absent.
//
// Training is jumpy: over 140 steps gradients now and then become a hundred times as large as usual and the
// accuracy falls back for some epochs, in Keras as well. Other seeds ended anywhere between 0.53 and 0.97
// after 14 epochs; the default, 6, comes through. Its result does not depend on the number of devices, but
// may depend on the rounding of the processor's kernels.
//
//   two_branch_lstm [pairs of excerpts to train on] [epochs] [devices: 2 or 1] [seed]
#include <nyala/datasets/io/data_file.h>
#include <nyala/nyala.h>

#include <cctype>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>

using namespace nyala;

constexpr int64_t kLength = 140, kBytes = 256, kBatch = 100;

struct Texts {
  std::string shakespeare, plato;
};

std::optional<std::string> text_of(const std::string& name) {
  const auto path = datasets::find_data_file("text", name);
  if (!path) return std::nullopt;
  std::ifstream file(*path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  for (char& byte : text) byte = static_cast<char>(std::tolower(static_cast<unsigned char>(byte)));
  return text;
}

/// The first (or the last) part of a text.
std::string part(const std::string& text, bool first) {
  const size_t cut = text.size() * 8 / 10;
  return first ? text.substr(0, cut) : text.substr(cut);
}

/// Random pairs of excerpts as bytes, and how many of each are Shakespeare's.
Element pairs(const Texts& texts, int64_t count, std::mt19937& random) {
  std::vector<uint8_t> sides[2];
  std::vector<int32_t> labels;
  for (int64_t i = 0; i < count; ++i) {
    int32_t label = 0;
    for (std::vector<uint8_t>& side : sides) {
      const bool shakespeare = random() % 2 == 1;
      const std::string& text = shakespeare ? texts.shakespeare : texts.plato;
      const auto from = text.begin() + static_cast<int64_t>(random() % (text.size() - kLength));
      side.insert(side.end(), from, from + kLength);
      label += shakespeare;
    }
    labels.push_back(label);
  }
  return {.x = {Tensor::from(sides[0], {count, kLength}), Tensor::from(sides[1], {count, kLength})},
          .y = {Tensor::from(labels)}};
}

Tensor one_hot(const Tensor& bytes) {
  const Tensor out = Tensor::zeros({bytes.shape()[0], kLength, kBytes});
  float* row = out.data<float>().data();
  for (const uint8_t byte : bytes.data<uint8_t>()) {
    row[byte] = 1.0f;
    row += kBytes;
  }
  return out;
}

/// Batches of one-hot bytes: (batch, 140, 256) twice.
Dataset batches(const Element& data, bool shuffled) {
  Dataset dataset = Dataset::from_tensor_slices(data);
  if (shuffled) dataset = dataset.shuffle(data.y[0].shape()[0]);
  return dataset.batch(kBatch).map([](Element batch) {
    for (Tensor& side : batch.x) side = one_hot(side);
    return batch;
  });
}

// clang-format off: these lines stand in the documentation
Model two_branches(const std::string& first, const std::string& second) {
  const Tensor a = Input({kLength, kBytes}), b = Input({kLength, kBytes});
  const LSTM shared(64);
  Tensor left, right, both;
  {
    const auto on = device(first);
    left = shared(a);
  }
  {
    const auto on = device(second);
    right = shared(b);
  }
  {
    const auto on = device("cpu:0");
    both = Concatenate()({left, right});
  }
  return Model({.inputs = {a, b}, .outputs = {Dense(3, {.activation = "softmax"})(both)}});
}
// clang-format on

int main(int argc, char** argv) {
  const int64_t count = argc > 1 ? std::atoll(argv[1]) : 8000;
  const int epochs = argc > 2 ? std::atoi(argv[2]) : 14;
  const int devices = argc > 3 ? std::atoi(argv[3]) : 2;
  const unsigned seed = argc > 4 ? static_cast<unsigned>(std::atoi(argv[4])) : 6;
  const auto shakespeare = text_of("tinyshakespeare.txt"), plato = text_of("republic_clean.txt");
  if (!shakespeare || !plato) {
    std::printf("skipped: %s\n", datasets::search_hint("text", "tinyshakespeare.txt").c_str());
    return 0;
  }
  configure_logical_devices("cpu", devices);
  set_random_seed(seed);
  std::mt19937 random(seed);
  const Element train = pairs({part(*shakespeare, true), part(*plato, true)}, count, random);
  const Element test = pairs({part(*shakespeare, false), part(*plato, false)}, count / 4, random);

  const Model model = two_branches("cpu:0", devices > 1 ? "cpu:1" : "cpu:0");
  model.compile({.optimizer = Adam({.learning_rate = 1e-3}),
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy"}});
  model.summary();
  const auto start = std::chrono::steady_clock::now();
  model.fit(batches(train, true), {.epochs = epochs, .verbose = 2});
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const double accuracy = model.evaluate(batches(test, false), {.verbose = 0})["accuracy"];
  std::printf("%d device(s), %d epochs of %lld pairs: %.1f s, accuracy on unseen text %.4f\n", devices,
              epochs, static_cast<long long>(count), seconds.count(), accuracy);
  return 0;
}
