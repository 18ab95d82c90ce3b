// The first distributed training that one tries: Keras' pretrained MobileNetV2, 224 pixels and its 1000
// classes, goes on training on CIFAR-10 under a MirroredStrategy, 64 images per replica and step.
// (finetune_mobilenet_v2 shows how to get good accuracy from such a network; this program is short.)
//
// CIFAR-10 is read from a data folder (NYALA_DATA_DIR, or ~/.nyala/datasets): the whole set, or else the
// files cifar10/lossless_train_4053.bin.gz and cifar10/lossless_test_761.bin.gz. The weights are looked for
// in NYALA_HOME/models (~/.nyala/models) and ~/.keras/models, and downloaded if they are in neither. The
// program says what is missing and where to put it.
//
//   tutorial_mobilenet_v2 [--limit N images] [--epochs 5] [--devices 2] [--weights imagenet, none or a file]
#include <nyala/datasets/io/data_file.h>
#include <nyala/examples/support/arguments.h>
#include <nyala/nyala.h>

#include <algorithm>
#include <cstdio>

using namespace nyala;

TrainTest cifar10_images() {
  const auto train = datasets::find_data_file("cifar10", "lossless_train_4053.bin.gz");
  const auto test = datasets::find_data_file("cifar10", "lossless_test_761.bin.gz");
  if (train && test) return {datasets::load_cifar10_batch(*train), datasets::load_cifar10_batch(*test)};
  return datasets::cifar10();
}

std::pair<Tensor, Tensor> preprocess(const Tensor& image, const Tensor& label) {
  return {ops::resize_images(ops::cast(image, DType::float32), 224, 224) / 255.0, label};
}

void run(int64_t limit, int epochs, const std::vector<std::string>& devices, const std::string& weights) {
  const MirroredStrategy strategy({.devices = devices});
  const int64_t batch_size = 64 * strategy.num_replicas_in_sync();
  const auto batches = [&](const Arrays& images) {
    return Dataset::from_tensor_slices(images)
        .take(limit)
        .map(preprocess, {.num_parallel_calls = kAutotune})
        .batch(batch_size)
        .prefetch();
  };
  const auto [train, test] = cifar10_images();
  const Model model = strategy.scope([&] {
    const Model net = applications::MobileNetV2({.weights = weights});
    net.compile(
        {.optimizer = Adam(0.001), .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
    return net;
  });
  model.fit(batches(train), {.epochs = epochs});
  const Logs logs = model.evaluate(batches(test), {.verbose = 0});
  std::printf("test loss %.4f, accuracy %.4f\n", logs["loss"], logs["accuracy"]);
}

int main(int argc, char** argv) {
  const auto number = [&](const char* name, int64_t otherwise) {
    return examples::number_argument(argc, argv, name, otherwise);
  };
  const int devices = static_cast<int>(number("--devices", 2));
  configure_logical_devices("cpu", devices);
  std::vector<std::string> names;
  for (int i = 0; i < devices; ++i) names.push_back("cpu:" + std::to_string(i));
  try {
    run(number("--limit", -1), static_cast<int>(number("--epochs", 5)), names,
        examples::text_argument(argc, argv, "--weights", "imagenet"));
  } catch (const IoError& missing) {
    std::printf("skipped: %s\n", missing.what());
  }
  return 0;
}
