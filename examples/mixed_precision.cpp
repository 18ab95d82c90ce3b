// Trains a small convolutional network on rings and discs in a dtype policy, keeps its last layer in float32,
// and shows what is computed in which dtype, what the file says of it, and that a float32 model predicts
// nearly the same.
//
//   mixed_precision [--policy mixed_bfloat16] [--products highest] [--epochs 4] [--rows 1024] [--devices 1]
//                   [--output rings.keras]
#include <nyala/examples/support/strategy_argument.h>
#include <nyala/nyala.h>

#include <cmath>
#include <cstdio>

using namespace nyala;

constexpr int64_t kSide = 16;

/// Pictures of noisy discs (class 0) and rings (class 1) of random sizes.
Arrays rings(int64_t rows, uint64_t key) {
  const Tensor sizes = ops::random_uniform({rows}, 3.0, 7.0, {.key = key});
  const Tensor noise = ops::random_normal({rows, kSide, kSide, 1}, 0.0, 0.3, {.key = key + 1});
  const std::vector<float> radius = sizes.to_vector<float>();
  std::vector<float> pixels = noise.to_vector<float>();
  std::vector<int32_t> labels;
  for (int64_t i = 0; i < rows * kSide * kSide; ++i) {
    const int64_t row = i / (kSide * kSide), y = i / kSide % kSide, x = i % kSide;
    const double distance = std::hypot(static_cast<double>(y) - 7.5, static_cast<double>(x) - 7.5);
    const bool is_ring = row % 2 == 1;
    const double inner = is_ring ? radius[static_cast<size_t>(row)] - 1.5 : 0.0;
    if (distance <= radius[static_cast<size_t>(row)] && distance >= inner)
      pixels[static_cast<size_t>(i)] += 1.0f;
    if (y == 0 && x == 0) labels.push_back(is_ring ? 1 : 0);
  }
  return {Tensor::from(pixels, {rows, kSide, kSide, 1}), Tensor::from(labels)};
}

int main(int argc, char** argv) {
  const Strategy strategy = examples::strategy_argument(argc, argv);
  const std::string policy = examples::text_argument(argc, argv, "--policy", "mixed_bfloat16");
  const std::string products = examples::text_argument(argc, argv, "--products", "highest");
  const int epochs = static_cast<int>(examples::number_argument(argc, argv, "--epochs", 4));
  const int64_t rows = examples::number_argument(argc, argv, "--rows", 1024);
  const std::string output = examples::text_argument(argc, argv, "--output", "rings.keras");
  set_random_seed(1);
  const Arrays train = rings(rows, 1), test = rings(256, 3);

  set_float32_precision(products);  // "highest", "high" or "medium": of layers that compute in float32

  const auto scope = strategy.scope();
  set_dtype_policy(policy);  // "mixed_bfloat16": of all layers made from here on
  const Sequential model(
      {Input({kSide, kSide, 1}), Conv2D(16, 3, {.activation = "relu"}), BatchNormalization({.momentum = 0.9}),
       MaxPooling2D(), Conv2D(32, 3, {.activation = "relu"}), GlobalAveragePooling2D(), Dense(2),
       Activation("softmax", {.dtype = "float32"})});  // probabilities with all their digits
  model.compile(
      {.optimizer = Adam(0.01), .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
  model.fit(train, {.batch_size = 64, .epochs = epochs, .verbose = 2});

  for (const Layer& layer : model.layers())
    std::printf("%-24s %-16s computes in %s, weights in %s\n", layer.name().c_str(),
                layer.dtype_policy().name().c_str(), std::string(name_of(layer.compute_dtype())).c_str(),
                std::string(name_of(layer.variable_dtype())).c_str());
  const double accuracy = model.evaluate(test, {.verbose = 0})["accuracy"];

  model.save(output);
  const Model same = load_model(output);                                // with the policies it was saved with
  const Model whole = load_model(output, {.dtype_policy = "float32"});  // the same weights in another policy
  const Tensor p = model.predict(test.x, {.verbose = 0}), q = whole.predict(test.x, {.verbose = 0});
  const double again = same.evaluate(test, {.verbose = 0})["accuracy"];
  std::printf("test accuracy %.4f, loaded %.4f; probabilities differ from float32's by at most %.4f\n",
              accuracy, again, ops::max(ops::abs(p - q)).item());
  return accuracy == again && same.get_layer(0).dtype_policy().name() == policy ? 0 : 1;
}
