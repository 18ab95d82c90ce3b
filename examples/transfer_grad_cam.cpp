// Transfer learning with Grad-CAM: a head on a frozen pretrained MobileNetV2 learns CIFAR-10; the model comes
// back from its file, is cut behind the network's last feature maps, and shows where it looks.
//
// Reads from a data folder (NYALA_DATA_DIR, or ~/.nyala/datasets), and says which file is missing:
//   weights/derived_mobilenet_v2_0.35_128_imagenet_notop.h5, cifar10/lossless_train_4053.bin.gz,
//   imagenet/photos/cat_720p.jpg
//
//   transfer_grad_cam [--rows 2000] [--epochs 5] [--devices 1] [--output transfer.keras]
#include <nyala/datasets/io/data_file.h>
#include <nyala/examples/support/strategy_argument.h>
#include <nyala/nyala.h>

#include <cstdio>

using namespace nyala;

constexpr int64_t kSize = 128;
const std::vector<std::string> kClasses = {"airplane", "automobile", "bird",  "cat",  "deer",
                                           "dog",      "frog",       "horse", "ship", "truck"};

std::string find(const std::string& folder, const std::string& name) {
  if (const auto path = datasets::find_data_file(folder, name)) return path->string();
  std::printf("skipped: %s\n", datasets::search_hint(folder, name).c_str());
  std::exit(0);
}

Model make_model(const std::string& weights) {
  const Model base = applications::MobileNetV2({.input_shape = {kSize, kSize, 3},
                                                .alpha = 0.35,
                                                .include_top = false,
                                                .weights = weights,
                                                .name = "base"});
  base.set_trainable(false);
  const Tensor image = Input({kSize, kSize, 3});
  const Tensor maps = base(Rescaling(1 / 127.5, {.offset = -1.0})(image));
  return Model(image, Dense(10, {.activation = "softmax"})(
                          Dropout(0.2)(GlobalAveragePooling2D({.name = "pool"})(maps))));
}

/// Where `model` finds class `label` in the image: the feature maps, weighted by what they mean to its score.
Tensor grad_cam(const Model& model, const Tensor& image, int64_t label) {
  const Model cut(model.input(), Tensors{model.get_layer("pool").input(), model.output()});
  GradientTape tape;
  const Outputs outputs = cut.call_all({tape.watch(image)});
  const Tensor gradient = tape.gradient(outputs[1](0, label), outputs[0]);
  return ops::relu((outputs[0] * gradient.mean({0, 1, 2})).sum(-1));
}

int main(int argc, char** argv) {
  const Strategy strategy = examples::strategy_argument(argc, argv);
  const int64_t rows = examples::number_argument(argc, argv, "--rows", 2000);
  const int epochs = static_cast<int>(examples::number_argument(argc, argv, "--epochs", 5));
  const std::string output = examples::text_argument(argc, argv, "--output", "transfer.keras");
  set_random_seed(1);
  const std::string weights = find("weights", "derived_mobilenet_v2_0.35_128_imagenet_notop.h5");
  const Dataset images =
      Dataset::from_tensor_slices(datasets::load_cifar10_batch(find("cifar10", "lossless_train_4053.bin.gz")))
          .map([](const Tensor& x, const Tensor& y) {
            return std::pair(ops::resize_images(x, kSize, kSize), y);
          });

  const auto scope = strategy.scope();
  const Model model = make_model(weights);
  model.compile(
      {.optimizer = Adam(2e-3), .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
  // Under parameter servers each worker has some of the batches, in each epoch others.
  const bool caches =
      examples::text_argument(argc, argv, "--strategy", "mirrored").find("server") == std::string::npos;
  model.fit(images.take(rows).batch(64), {.epochs = epochs,
                                          .verbose = 2,
                                          .validation_data = images.skip(rows).take(rows / 4).batch(64),
                                          .cache_frozen_features = caches});
  model.save(output);

  const Model loaded = load_model(output);
  const Tensor photo =
      ops::expand_dims(load_img(find("imagenet/photos", "cat_720p.jpg"), {.target_size = {kSize, kSize}}), 0);
  const int64_t label = static_cast<int64_t>(loaded.predict(photo, {.verbose = 0}).argmax().item());
  const Tensor map = grad_cam(loaded, photo.astype(DType::float32), label);
  std::printf("%s, because of:\n", kClasses[static_cast<size_t>(label)].c_str());
  for (const Tensor row : (map / map.max()).squeeze(0)) {
    for (const Tensor cell : row) std::printf("%4.0f", 100 * cell.item());
    std::printf("\n");
  }
}
