// Files that ask for far more memory than they hold are refused before they get it.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <hdf5.h>

#include <nyala/api/layers/all.h>
#include <nyala/api/saving/arrays/numpy.h>
#include <nyala/api/saving/arrays/safetensors.h>
#include <nyala/api/saving/load_model.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/random/random.h>
#include <nyala/files/hdf5/writer.h>
#include <nyala/files/zip/archive_writer.h>
#include <nyala/tests/api/saving/peak_memory.h>
#include <nyala/tests/support/scratch_folder.h>
#include <nyala/tests/files/zip/deflated_archive.h>

namespace nyala {
namespace {

constexpr size_t kMegabyte = size_t{1} << 20;

class MemoryLimits : public testing::Test {
 protected:
  /// Fails unless `read` throws a FileFormatError that names the file and holds `reason`, and memory stays
  /// below twice the file's size and 64 MB.
  void expect_refused(const std::function<void()>& read, const std::string& reason) const {
    std::string text;
    const size_t growth = peak_growth([&] {
      try {
        read();
      } catch (const FileFormatError& error) {
        text = error.what();
      }
    });
    EXPECT_NE(text.find(reason), std::string::npos) << (text.empty() ? "not refused" : text);
    EXPECT_NE(text.find(path_), std::string::npos) << text;
    if (kMeasuresMemory) {
      EXPECT_LT(growth, 2 * std::filesystem::file_size(path_) + 64 * kMegabyte) << text;
    }
  }
  void expect_model_refused(const std::string& reason) const {
    expect_refused([&] { load_model(path_); }, reason);
  }
  void write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }
  /// An archive of this config and these weights, deflated.
  void write_packed(const std::string& config, const std::string& weights) const {
    zip::DeflatedArchive archive;
    archive.add("metadata.json", "{}");
    archive.add("config.json", config);
    archive.add("model.weights.h5", weights);
    write(archive.bytes());
  }
  static std::string empty_weights() {
    const hdf5::FileImage image = hdf5::Writer().finish();
    return {reinterpret_cast<const char*>(image.bytes.data()), image.bytes.size()};
  }
  /// A Sequential of `layers` Dense layers of `units` each.
  static std::string dense_config(int64_t layers, int64_t units) {
    const std::string size = std::to_string(units);
    std::string text =
        R"({"class_name": "Sequential", "config": {"name": "s", "layers": [{"class_name": "InputLayer",
        "config": {"name": "i", "batch_shape": [null, )" +
        size + "]}}";
    for (int64_t i = 0; i < layers; ++i)
      text += R"(, {"class_name": "Dense", "config": {"name": "d)" + std::to_string(i) + R"(", "units": )" +
              size + "}}";
    return text + "]}}";
  }

  ScratchFolder folder_{"memory_limits"};
  std::string path_ = folder_.file("m.keras");
};

TEST_F(MemoryLimits, PackedTextOfManyValues) {
  std::string many = "[";
  while (many.size() < 11 * kMegabyte) many += "[],";
  write_packed(many + "[]]", empty_weights());
  expect_model_refused("values");
  write_packed(std::string(11 * kMegabyte, '['), empty_weights());
  expect_model_refused("deep");
  write_packed("\"" + std::string(11 * kMegabyte, 'x') + "\"", empty_weights());
  expect_model_refused("class_name");
}

TEST_F(MemoryLimits, PackedMembersThatAreMuchLarger) {
  write_packed("{}", std::string(300 * kMegabyte, '\0'));
  EXPECT_LT(std::filesystem::file_size(path_), kMegabyte);
  expect_model_refused("claims to unpack");
}

TEST_F(MemoryLimits, WeightsThatTheFileDoesNotHold) {
  for (const auto& [layers, units] :
       {std::pair<int64_t, int64_t>{1, 200000}, {1000, 2000}, {1, int64_t{1} << 40}}) {
    write_packed(dense_config(layers, units), empty_weights());
    expect_model_refused("weight 'kernel'");
  }
  write_packed(R"({"class_name": "Sequential", "config": {"name": "s", "layers": [
      {"class_name": "InputLayer", "config": {"name": "i", "batch_shape": [1000000, 7, 100]}},
      {"class_name": "LSTM", "config": {"name": "l", "units": 1000, "stateful": true}}]}})",
               empty_weights());
  expect_model_refused("all that the file holds");
}

/// Datasets without storage, filled when they are read.
TEST_F(MemoryLimits, DatasetsThatAreNotStored) {
  constexpr hsize_t kUnits = 6000;  // 144 MB each
  const std::string weights = folder_.file("w.h5");
  {
    const hid_t file = H5Fcreate(weights.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t links = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(links, 1);
    for (int i = 0; i < 4; ++i) {
      const std::string group =
          "layers/dense" + (i == 0 ? std::string() : "_" + std::to_string(i)) + "/vars/";
      const hsize_t matrix[] = {kUnits, kUnits}, vector[] = {kUnits};
      const hid_t matrix_space = H5Screate_simple(2, matrix, nullptr),
                  vector_space = H5Screate_simple(1, vector, nullptr);
      H5Dclose(H5Dcreate2(file, (group + "0").c_str(), H5T_IEEE_F32LE, matrix_space, links, H5P_DEFAULT,
                          H5P_DEFAULT));
      H5Dclose(H5Dcreate2(file, (group + "1").c_str(), H5T_IEEE_F32LE, vector_space, links, H5P_DEFAULT,
                          H5P_DEFAULT));
      H5Sclose(matrix_space);
      H5Sclose(vector_space);
    }
    H5Pclose(links);
    H5Fclose(file);
  }
  std::ifstream in(weights, std::ios::binary);
  write_packed(dense_config(4, kUnits), {std::istreambuf_iterator<char>(in), {}});
  expect_model_refused("weight 'kernel'");
}

TEST_F(MemoryLimits, OneDatasetNamedAgainAndAgain) {
  path_ = folder_.file("m.h5");
  hdf5::Writer writer;
  const std::vector<float> values(1000000);
  writer.write_dataset("model_weights/d/w", {1000000}, std::span<const float>(values));
  writer.set_attribute("model_weights", "layer_names", {"d"}, hdf5::StringStorage::variable);
  writer.set_attribute("model_weights/d", "weight_names", std::vector<std::string>(4000, "w"),
                       hdf5::StringStorage::variable);
  writer.set_attribute("/", "model_config", dense_config(1, 2));
  writer.set_attribute("/", "keras_version", "3.15.1");
  writer.save(path_);
  expect_model_refused("all that the file holds");
}

TEST_F(MemoryLimits, ArraysOfAbsurdShapes) {
  path_ = folder_.file("x.npy");
  const auto npy = [&](const std::string& shape) {
    std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }";
    header.resize(118, ' ');
    return std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header;
  };
  for (const char* shape :
       {"(4611686018427387904, 4)", "(1099511627776,)", "(99999999999999999999,)", "(5, 3)"}) {
    write(npy(shape));
    expect_refused([&] { load_npy(path_); }, "");
  }
}

TEST_F(MemoryLimits, SavingCopiesNoWeights) {
  if (!kMeasuresMemory) return;
  const Sequential model({Input({2000}), Dense(2000), Dense(2000), Dense(2000), Dense(2000)});
  for (const char* name : {"m.keras", "m.h5", "m.weights.h5", "m.safetensors", "m.npz"}) {
    const std::string path = folder_.file(name);
    const bool whole = path.ends_with(".keras") || path.ends_with("m.h5");
    const size_t growth = peak_growth([&] { whole ? model.save(path) : model.save_weights(path); });
    EXPECT_LT(growth, 8 * kMegabyte) << name;
    EXPECT_GT(std::filesystem::file_size(path), 60 * kMegabyte);
  }
}

TEST_F(MemoryLimits, LoadingTakesTheWeightsOnce) {
  if (!kMeasuresMemory) return;
  constexpr size_t kWeights = size_t{4} * 4 * 2000 * 2001;
  {
    const Sequential model({Input({2000}), Dense(2000), Dense(2000), Dense(2000), Dense(2000)});
    model.save(path_);
  }
  Model loaded;
  const size_t growth = peak_growth([&] { loaded = load_model(path_); });
  EXPECT_LT(growth, kWeights + 48 * kMegabyte);
}

/// Values of a large file are read to where the weights lie: no second copy, and what kernels have kept of
/// the weights before (packed for their products) is of no use any more.
TEST_F(MemoryLimits, WeightsAreReadToWhereTheyLie) {
  const auto network = [] { return Sequential({Input({2048}), Dense(4096), Dense(2)}); };
  const Sequential from = network(), to = network();
  from.save_weights(path_ + ".weights.h5");
  const Tensor x = ops::random_uniform({3, 2048}, -1.0, 1.0, {.key = 1});
  const auto predicted = [&x](const Model& model) {
    return model.predict(x, {.verbose = 0}).to_vector<float>();
  };
  EXPECT_NE(predicted(to), predicted(from));
  const size_t growth = peak_growth([&] { to.load_weights(path_ + ".weights.h5"); });
  EXPECT_EQ(predicted(to), predicted(from));
  if (kMeasuresMemory) {
    EXPECT_LT(growth, 16 * kMegabyte);  // the kernel has 32
  }
}

}  // namespace
}  // namespace nyala
