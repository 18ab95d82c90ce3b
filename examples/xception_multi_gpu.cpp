// Keras 2's example of multi_gpu_model: an Xception whose weights stay on the CPU is trained on several
// devices with generated images, and saved as the model that it is on one. The numbers here are small; 1000
// classes, 224 pixels, batches of 256 are --classes 1000 --size 224 --samples 1000 --batch 256 --epochs 20
// --gpus 8.
//
//   xception_multi_gpu [--gpus 2] [--samples 32] [--size 96] [--classes 10] [--batch 8] [--epochs 2]
//                      [--output xception.keras]
#include <nyala/examples/support/arguments.h>
#include <nyala/nyala.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <random>

using namespace nyala;

Tensor random_numbers(const Shape& shape) {
  static std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform;
  std::vector<float> values(static_cast<size_t>(shape.num_elements()));
  for (float& value : values) value = uniform(random);
  return Tensor::from(values, shape);
}

double largest_difference(const Tensor& a, const Tensor& b) { return ops::max(ops::abs(a - b)).item(); }

int main(int argc, char** argv) {
  const auto number = [&](const char* name, int64_t otherwise) {
    return examples::number_argument(argc, argv, name, otherwise);
  };
  const int gpus = static_cast<int>(number("--gpus", 2));
  const int64_t num_samples = number("--samples", 32), height = number("--size", 96), width = height,
                num_classes = number("--classes", 10), batch_size = number("--batch", 8);
  const int epochs = static_cast<int>(number("--epochs", 2));
  const std::string output = examples::text_argument(argc, argv, "--output", "xception.keras");
  const std::filesystem::path path(output);
  const std::string of_epochs = (path.parent_path() / ("epoch-" + path.filename().string())).string();
  if (list_physical_devices("gpu").empty()) configure_logical_devices("cpu", gpus);
  set_random_seed(1);

  // The weights' place is the CPU's memory, so that they are at hand for all devices.
  const Model model = OneDeviceStrategy("cpu:0").scope([&] {
    return applications::Xception(
        {.input_shape = {height, width, 3}, .weights = "none", .classes = num_classes});
  });

  // Each device takes a part of every batch.
  const Model parallel_model = multi_gpu_model(model, {.gpus = gpus});
  parallel_model.compile({.optimizer = "rmsprop", .loss = "categorical_crossentropy"});

  const Tensor x = random_numbers({num_samples, height, width, 3});
  const Tensor y = random_numbers({num_samples, num_classes});
  parallel_model.fit(x, y,
                     {.batch_size = batch_size,
                      .epochs = epochs,
                      .callbacks = {ParallelModelCheckpoint(model, of_epochs, {.monitor = "loss"})}});

  // The template shares the weights: it is what is saved.
  model.save(output);

  const Tensor expected = parallel_model.predict(x, {.verbose = 0});
  const double from_file = largest_difference(load_model(output).predict(x, {.verbose = 0}), expected);
  const double of_epoch = largest_difference(load_model(of_epochs).predict(x, {.verbose = 0}), expected);
  std::printf("predictions of the saved template and of the last epoch's file differ by %.1e and %.1e\n",
              from_file, of_epoch);
  return from_file < 1e-4 && of_epoch < 1e-4 ? 0 : 1;
}
