#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include <nyala/api/optimizers/all.h>
#include <nyala/api/saving/arrays/numpy.h>
#include <nyala/api/saving/load_model.h>
#include <nyala/api/saving/weights/weights_file.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/random/random.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/datasets/cifar10.h>
#include <nyala/datasets/io/byte_reader.h>
#include <nyala/datasets/io/tar_reader.h>
#include <nyala/files/hdf5/file.h>
#include <nyala/tests/golden/on_devices.h>

// Files that others made with Keras 1.2 to 2.8, with what their makers recorded.
namespace nyala::real_files_test {
namespace {

namespace fs = std::filesystem;

fs::path data_folder() {
  const char* chosen = std::getenv("NYALA_TEST_DATA");
  return chosen != nullptr ? chosen : NYALA_TEST_DATA;
}

constexpr const char* kAbsent = " is absent (set NYALA_TEST_DATA)";

double largest(const Tensor& values) { return ops::max(ops::absolute(values)).item(); }

double largest_difference(const Tensor& a, const Tensor& b) {
  return largest(ops::subtract(ops::cast(a, DType::float32), ops::cast(b, DType::float32)));
}

Tensor random_input(Shape shape, uint64_t key) {
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (shape[axis] == None) shape = shape.with(axis, axis == 0 ? 3 : 12);
  return ops::random_uniform(shape, 0.0, 1.0, {.key = key});
}

/// Some steps on random numbers, then all weights.
Tensors trained(const Model& model) {
  model.compile({.optimizer = SGD({.learning_rate = 0.01}), .loss = "mse"});
  const Tensor x = random_input(model.model_node().input_shapes().at(0).with(0, 7), 1);
  const Tensor y = random_input(model.predict(x, {.verbose = 0}).shape(), 2);
  model.fit(x, y, {.batch_size = 4, .epochs = 1, .verbose = 0, .shuffle = false});
  return model.get_weights();
}

/// Keras writes "synchronized": false for every BatchNormalization, which means nothing on one device.
TEST(RealFiles, BatchNormalizationTrainsOnSeveralDevicesAsOnOne) {
  const fs::path folder = data_folder() / "keras_models";
  if (!fs::exists(folder)) GTEST_SKIP() << folder << kAbsent;
  for (const char* name : {"fer2013_mini_XCEPTION.102-0.66.hdf5", "mlperf_resnet8_cifar10.h5",
                           "mlperf_vww_mobilenet_v1_0.25_96.h5"}) {
    const std::string path = (folder / name).string();
    const Tensors expected = trained(load_model(path));
    for (const int count : {2, 3}) {
      SCOPED_TRACE(name + std::string(" on ") + std::to_string(count));
      const golden::OnDevices devices(count);
      const Tensors received = trained(devices.strategy().scope([&] { return load_model(path); }));
      ASSERT_EQ(received.size(), expected.size());
      for (size_t i = 0; i < expected.size(); ++i)
        EXPECT_LE(largest_difference(received[i], expected[i]), 1e-4 * (1 + largest(expected[i]))) << i;
    }
  }
}

TEST(RealFiles, EveryModelPredicts) {
  const fs::path folder = data_folder() / "keras_models";
  if (!fs::exists(folder)) GTEST_SKIP() << folder << kAbsent;
  int count = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string extension = entry.path().extension().string();
    if (extension != ".h5" && extension != ".hdf5") continue;
    SCOPED_TRACE(entry.path().filename().string());
    const Model model = load_model(entry.path().string());
    Tensors inputs;
    for (const Shape& shape : model.model_node().input_shapes())
      inputs.push_back(random_input(shape, inputs.size()));
    for (const Tensor& output : model.predict_all(inputs, {.verbose = 0})) {
      EXPECT_EQ(output.shape()[0], inputs[0].shape()[0]);
      EXPECT_TRUE(std::isfinite(largest(output)));
      EXPECT_GT(largest(output), 0.0);
    }
    ++count;
  }
  EXPECT_EQ(count, 10);
}

TEST(RealFiles, MobileNetSeesInPhotosWhatWasRecorded) {
  const fs::path file = data_folder() / "weights/mobilenet_v1_0.25_224_imagenet_keras2.8.h5";
  const fs::path recorded = data_folder() / "imagenet/expected_outputs.npz";
  if (!fs::exists(file)) GTEST_SKIP() << file << kAbsent;
  if (!fs::exists(recorded)) GTEST_SKIP() << recorded << kAbsent;
  const NamedArrays arrays = load_npz(recorded.string(), {"input_224", "probs_mobilenet_v1_025_224"});
  const Tensor photos = ops::cast(arrays[0].second, DType::float32) * (1 / 127.5) - 1.0;
  const Tensor probabilities = load_model(file.string()).predict(photos, {.verbose = 0});
  EXPECT_LE(largest_difference(probabilities, arrays[1].second), 1e-4);
}

TEST(RealFiles, ResNet8TellsImagesApartAsWellAsItsMakersSay) {
  const fs::path file = data_folder() / "keras_models/mlperf_resnet8_cifar10.h5";
  const fs::path images = data_folder() / "cifar10/lossless_test_761.bin.gz";
  if (!fs::exists(file)) GTEST_SKIP() << file << kAbsent;
  if (!fs::exists(images)) GTEST_SKIP() << images << kAbsent;
  const Arrays test = datasets::load_cifar10_batch(images);
  const Tensor predicted =
      load_model(file.string()).predict(ops::cast(test.x, DType::float32), {.verbose = 0});
  const std::vector<float> scores = predicted.to_vector<float>();
  const std::vector<int64_t> labels = ops::cast(test.y, DType::int64).to_vector<int64_t>();
  int right = 0;
  for (size_t row = 0; row < labels.size(); ++row) {
    const auto begin = scores.begin() + static_cast<int64_t>(10 * row);
    right += std::max_element(begin, begin + 10) - begin == labels[row];
  }
  EXPECT_EQ(labels.size(), 761u);
  EXPECT_NEAR(right / 761.0, 0.884, 0.002);
}

/// Unpacks the models of an archive and what was recorded of them; returns the paths of the records.
std::vector<fs::path> unpack(const fs::path& archive, const fs::path& folder) {
  std::vector<fs::path> records;
  datasets::ByteReader bytes(archive);
  datasets::TarReader tar(bytes);
  for (datasets::TarEntry entry; tar.next(entry);) {
    const std::string name = fs::path(entry.name).filename().string();
    if (!name.ends_with("_model.h5") && !name.ends_with("_inputs_and_outputs.h5")) continue;
    std::vector<uint8_t> content(entry.size);
    tar.read(content);
    std::ofstream(folder / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
    if (name.ends_with("_inputs_and_outputs.h5")) records.push_back(folder / name);
  }
  std::ranges::sort(records);
  return records;
}

Tensors recorded(const hdf5::Group& root, const char* group) {
  Tensors values;
  for (const std::string& path : root.group(group).dataset_paths())
    values.push_back(ops::cast(read_tensor(root.dataset(path)), DType::float32));
  return values;
}

TEST(RealFiles, ModelsGiveThePredictionsRecordedWithKeras) {
  const fs::path archive = data_folder() / "keras_golden/dl4j_keras_golden_io.tar.gz";
  if (!fs::exists(archive)) GTEST_SKIP() << archive << kAbsent;
  const fs::path folder = fs::path(testing::TempDir()) / "recorded_models";
  fs::create_directories(folder);
  int agree = 0, without = 0;
  double worst = 0.0;
  for (const fs::path& record : unpack(archive, folder)) {
    const std::string name = record.filename().string();
    SCOPED_TRACE(name);
    const std::string model = name.substr(0, name.rfind("_inputs_and_outputs")) + "_model.h5";
    const hdf5::Group root = hdf5::File::open(record.string()).root();
    const Model read = load_model((folder / model).string());
    const int64_t rows = read.model_node().input_shapes().at(0)[0];
    const Tensors outputs =
        read.predict_all(recorded(root, "inputs"), {.batch_size = rows == None ? 32 : rows, .verbose = 0});
    if (!root.has_group("predictions")) {  // one, which holds the targets of training only
      ++without;
      continue;
    }
    const Tensors expected = recorded(root, "predictions");
    ASSERT_EQ(outputs.size(), expected.size());
    double difference = 0.0;
    for (size_t i = 0; i < outputs.size(); ++i) {
      ASSERT_EQ(outputs[i].shape(), expected[i].shape());
      difference = std::max(difference, largest_difference(outputs[i], expected[i]));
    }
    EXPECT_LT(difference, 1e-4);
    worst = std::max(worst, difference);
    agree += difference < 1e-4;
  }
  fs::remove_all(folder);
  EXPECT_EQ(agree, 74);
  EXPECT_EQ(without, 1);
  std::printf("%d of %d models, largest difference %.1e\n", agree, agree + without, worst);
}

}  // namespace
}  // namespace nyala::real_files_test
