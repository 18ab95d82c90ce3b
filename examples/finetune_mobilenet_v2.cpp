// Fine-tunes a MobileNetV2 (alpha 0.35, 128 pixels, pretrained on ImageNet) to CIFAR-10 on several devices: a
// new head on the frozen network first, then the last blocks with a smaller rate. The best epoch is kept in a
// .keras file, which is loaded again and tells what is on a photo.
//
// Reads from a data folder (NYALA_DATA_DIR, or ~/.nyala/datasets), and says which file is missing:
//   cifar10/lossless_train_4053.bin.gz, cifar10/lossless_test_761.bin.gz (CIFAR-10's binary records)
//   weights/derived_mobilenet_v2_0.35_128_imagenet_notop.h5 (Keras' weights without the classifier)
//   imagenet/photos/cat_720p.jpg, or any photo: --photo PATH
//
//   finetune_mobilenet_v2 [--rows N] [--head-epochs 10] [--tune-epochs 10] [--devices 2] [--seed 1] [--cache]
//                         [--output finetuned.keras] [--photo PATH] [--verbose 2] [--dtype float32]
//
// --cache computes the frozen part once per image and keeps its features over the epochs. --dtype: a
// dtype policy, such as mixed_bfloat16.
#include <nyala/datasets/image/load_img.h>
#include <nyala/datasets/io/data_file.h>
#include <nyala/examples/support/arguments.h>
#include <nyala/nyala.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>

using namespace nyala;
using Clock = std::chrono::steady_clock;

constexpr int64_t kSize = 128;
const std::vector<std::string> kClasses = {"airplane", "automobile", "bird",  "cat",  "deer",
                                           "dog",      "frog",       "horse", "ship", "truck"};

/// How much of the time of the steps the model waited for its next batch.
struct InputWait : Callback {
  void on_epoch_begin(int, Logs&) override { end_ = Clock::now(); }
  void on_train_batch_begin(int64_t, Logs&) override { wait_ += (begin_ = Clock::now()) - end_; }
  void on_train_batch_end(int64_t, Logs&) override { step_ += (end_ = Clock::now()) - begin_; }
  double percent() const { return 100.0 * wait_.count() / (wait_ + step_).count(); }

 private:
  Clock::time_point begin_, end_;
  std::chrono::duration<double> wait_{0}, step_{0};
};

std::string find(const std::string& folder, const std::string& name) {
  if (const auto path = datasets::find_data_file(folder, name)) return path->string();
  std::printf("skipped: %s\n", datasets::search_hint(folder, name).c_str());
  std::exit(0);
}

Arrays first_rows(const Arrays& data, int64_t rows) {
  const int64_t count = std::min(rows, data.x.shape()[0]);
  return {data.x.rows(0, count), data.y.rows(0, count)};
}

/// Images of 128 pixels, 0 to 255 in bytes as they were.
std::pair<Tensor, Tensor> resized(const Tensor& image, const Tensor& label) {
  return {ops::resize_images(image, kSize, kSize), label};
}

struct Options {
  std::string weights, output, photo;
  Arrays train, test;
  std::vector<std::string> devices;
  int head_epochs, tune_epochs, verbose;
  bool cache;
};

void classify(const Model& model, const std::string& photo) {
  const Tensor image = load_img(photo, {.target_size = {kSize, kSize}, .interpolation = "bilinear"});
  const std::vector<float> scores =
      model.predict(ops::expand_dims(image, 0), {.verbose = 0}).to_vector<float>();
  std::vector<size_t> order(scores.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  std::printf("%s:", std::filesystem::path(photo).filename().c_str());
  for (size_t i = 0; i < 3; ++i)
    std::printf("%s %s %.1f %%", i ? "," : "", kClasses[order[i]].c_str(),
                100.0 * static_cast<double>(scores[order[i]]));
  std::printf("\n");
}

struct FineTuned {
  Model base, model;
};

FineTuned make_model(const std::string& weights) {
  const Model base = applications::MobileNetV2({.input_shape = {kSize, kSize, 3},
                                                .alpha = 0.35,
                                                .include_top = false,
                                                .weights = weights,
                                                .pooling = "avg"});
  base.set_trainable(false);
  const Tensor images = Input({kSize, kSize, 3});
  const Tensor features = base(Rescaling(1 / 127.5, {.offset = -1.0})(images));
  const Tensor classes = Dense(10, {.activation = "softmax", .dtype = "float32"})(Dropout(0.2)(features));
  return {base, Model(images, classes, {.name = "finetuned"})};
}

/// All from block 6 on trains but BatchNormalization, which stays in inference mode.
void unfreeze_last_blocks(const Model& base) {
  base.set_trainable(true);
  bool last = false;
  for (const Layer& layer : base.layers()) {
    last = last || layer.name() == "block_6_expand";
    layer.set_trainable(last && layer.class_name() != "BatchNormalization");
  }
}

struct Phase {
  std::string name;
  double learning_rate;
  int epochs;
  std::string file;  // takes the model of each epoch that is better than those before
  double accuracy_to_beat;
};

/// Returns the best accuracy on the test images.
double train(const Model& model, const Phase& phase, const Dataset& data, FitConfig config) {
  model.compile({.optimizer = Adam(phase.learning_rate),
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy"}});
  InputWait input;
  ModelCheckpoint best(
      phase.file,
      {.monitor = "val_accuracy", .save_best_only = true, .initial_value_threshold = phase.accuracy_to_beat});
  config.callbacks = {input, best};
  config.epochs = phase.epochs;
  const auto start = Clock::now();
  const std::vector<double> accuracy = model.fit(data, config)["val_accuracy"];
  const std::chrono::duration<double> seconds = Clock::now() - start;
  const double highest = *std::max_element(accuracy.begin(), accuracy.end());
  std::printf("%s: %d epochs in %.1f s, input wait %.1f %% of the steps, accuracy %.4f, best %.4f\n",
              phase.name.c_str(), phase.epochs, seconds.count(), input.percent(), accuracy.back(), highest);
  return highest;
}

struct Accuracies {
  double head, last_blocks, loaded;
};

Accuracies fine_tune(const Options& options) {
  const MirroredStrategy strategy({.devices = options.devices});
  const int64_t batch = 64 * strategy.num_replicas_in_sync();
  const Dataset train_data = Dataset::from_tensor_slices(options.train)
                                 .map(resized, {.num_parallel_calls = kAutotune})
                                 .cache()
                                 .shuffle(1024)
                                 .batch(batch)
                                 .prefetch();
  const Dataset test_data =
      Dataset::from_tensor_slices(options.test).map(resized).cache().batch(batch).prefetch();
  const auto [base, model] = strategy.scope([&] { return make_model(options.weights); });
  const FitConfig config = {
      .verbose = options.verbose, .validation_data = test_data, .cache_frozen_features = options.cache};

  const double head =
      train(model, {"head", 1e-3, options.head_epochs, options.output, 0.0}, train_data, config);
  unfreeze_last_blocks(base);
  const double tuned =
      train(model, {"last blocks", 1e-4, options.tune_epochs, options.output, head}, train_data, config);

  const Model best = load_model(options.output);
  if (!options.photo.empty()) classify(best, options.photo);
  return {head, tuned, best.evaluate(test_data, {.verbose = 0})["accuracy"]};
}

Options options_of(int argc, char** argv) {
  const auto number = [&](const char* name, int otherwise) {
    return static_cast<int>(examples::number_argument(argc, argv, name, otherwise));
  };
  const auto text = [&](const char* name, const std::string& otherwise) {
    return examples::text_argument(argc, argv, name, otherwise);
  };
  Options options;
  options.weights = find("weights", "derived_mobilenet_v2_0.35_128_imagenet_notop.h5");
  const int rows = number("--rows", 4053), devices = number("--devices", 2);
  options.train =
      first_rows(datasets::load_cifar10_batch(find("cifar10", "lossless_train_4053.bin.gz")), rows);
  options.test = first_rows(datasets::load_cifar10_batch(find("cifar10", "lossless_test_761.bin.gz")), rows);
  for (int i = 0; i < devices; ++i) options.devices.push_back("cpu:" + std::to_string(i));
  options.head_epochs = number("--head-epochs", 10);
  options.tune_epochs = number("--tune-epochs", 10);
  options.verbose = number("--verbose", 2);
  options.cache = examples::has_argument(argc, argv, "--cache");
  options.output = text("--output", "finetuned.keras");
  const auto photo = datasets::find_data_file("imagenet/photos", "cat_720p.jpg");
  options.photo = text("--photo", photo ? photo->string() : "");
  set_random_seed(static_cast<uint64_t>(number("--seed", 1)));
  set_dtype_policy(text("--dtype", "float32"));
  return options;
}

int main(int argc, char** argv) {
  const Options options = options_of(argc, argv);
  configure_logical_devices("cpu", static_cast<int>(options.devices.size()));
  const auto [head, last_blocks, loaded] = fine_tune(options);
  std::printf("head %.4f, last blocks %.4f, loaded from %s: %.4f\n", head, last_blocks,
              options.output.c_str(), loaded);
  return std::abs(loaded - std::max(head, last_blocks)) < 2e-3 ? 0 : 1;
}
