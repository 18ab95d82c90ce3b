// The checksums in weights files of Nyala's.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <hdf5.h>

#include <nyala/api/layers/all.h>
#include <nyala/api/model/sequential.h>
#include <nyala/api/saving/checkpoint.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/files/hdf5/file.h>
#include <nyala/files/hdf5/names_checksum.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala {
namespace {

std::vector<float> all_values(const Model& model) {
  std::vector<float> all;
  for (const Variable& weight : model.weights())
    for (const float value : weight.value().to_vector<float>()) all.push_back(value);
  return all;
}

std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class ChecksumsInFiles : public testing::Test {
 protected:
  static Model network(int64_t units = 5) {
    return Sequential({Input({3}), Dense(units), BatchNormalization(), Dense(2)});
  }

  void write(const std::string& content) { std::ofstream(path_, std::ios::binary) << content; }
  /// The bytes of the first weight of `model` in the file.
  static size_t place_of_kernel(const Model& model, const std::string& content) {
    const std::vector<float> kernel = model.weights()[0].value().to_vector<float>();
    const size_t place = content.find(std::string(reinterpret_cast<const char*>(kernel.data()), 60));
    EXPECT_NE(place, std::string::npos);
    return place;
  }
  void expect_refused(const Model& model) {
    try {
      model.load_weights(path_);
      FAIL() << "nothing was thrown";
    } catch (const FileFormatError& error) {
      const std::string text = error.what();
      for (const std::string& part : {path_, std::string("/layers/dense/vars/0"), std::string("nyala_crc32c"),
                                     std::string(".verify_checksums = false")})
        EXPECT_NE(text.find(part), std::string::npos) << text;
    }
  }

  ScratchFolder folder_{"checksums"};
  std::string path_ = folder_.file("m.weights.h5");
};

TEST_F(ChecksumsInFiles, EachDatasetHasOne) {
  const Model model = network();
  model.save_weights(path_);
  const hdf5::Group root = hdf5::File::open(path_).root();
  for (const std::string& path : root.dataset_paths())
    EXPECT_TRUE(root.dataset(path).attributes().has(hdf5::Dataset::kChecksum)) << path;
  const Model other = network();
  EXPECT_TRUE(other.load_weights(path_).complete());
  EXPECT_EQ(all_values(other), all_values(model));
}

TEST_F(ChecksumsInFiles, EachFlippedBitIsFound) {
  const Model model = network(), other = network();
  model.save_weights(path_);
  const std::string whole = content_of(path_);
  const size_t begin = place_of_kernel(model, whole);
  const std::vector<float> before = all_values(other);
  for (size_t bit = 0; bit < 60 * 8; ++bit) {
    std::string damaged = whole;
    damaged[begin + bit / 8] = static_cast<char>(damaged[begin + bit / 8] ^ 1 << bit % 8);
    write(damaged);
    if (bit % 37 == 0) expect_refused(other);
    EXPECT_THROW(other.load_weights(path_), FileFormatError) << bit;
  }
  EXPECT_EQ(all_values(other), before) << "a small file changes nothing when it is damaged";
  EXPECT_TRUE(other.load_weights(path_, {.verify_checksums = false}).complete());
}

TEST_F(ChecksumsInFiles, LargeFilesAreCheckedWhileTheyAreRead) {
  const Model model = network(2'000'000), other = network(2'000'000);
  model.save_weights(path_);
  ASSERT_GT(std::filesystem::file_size(path_), 16u << 20);
  other.load_weights(path_);
  EXPECT_EQ(all_values(other), all_values(model));
  std::string damaged = content_of(path_);
  const size_t place = place_of_kernel(model, damaged);
  damaged[place + 20'000'001] = static_cast<char>(damaged[place + 20'000'001] ^ 4);
  write(damaged);
  expect_refused(other);
  other.load_weights(path_, {.verify_checksums = false});
  EXPECT_NE(all_values(other), all_values(model));
}

TEST_F(ChecksumsInFiles, ValuesThatAnotherProgramWroteAreRefusedUntilTheAttributeIsGone) {
  const Model model = network();
  model.save_weights(path_);
  const auto in_dataset = [&](auto&& work) {
    const hid_t file = H5Fopen(path_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    const hid_t dataset = H5Dopen2(file, "/layers/dense/vars/0", H5P_DEFAULT);
    work(dataset);
    H5Dclose(dataset);
    H5Fclose(file);
  };
  const std::vector<float> ones(15, 1.0f);
  in_dataset([&](hid_t dataset) {
    ASSERT_GE(H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, ones.data()), 0);
  });
  expect_refused(model);
  in_dataset([](hid_t dataset) { ASSERT_GE(H5Adelete(dataset, hdf5::Dataset::kChecksum), 0); });
  EXPECT_TRUE(model.load_weights(path_).complete());
  EXPECT_EQ(model.weights()[0].value().to_vector<float>(), ones);
}

TEST_F(ChecksumsInFiles, OfCheckpointsToo) {
  const Model model = network();
  model.compile({.optimizer = "adam", .loss = "mse"});
  model.train_on_batch(Tensor::ones({2, 3}), Tensor::ones({2, 2}));
  Checkpoint(model).save(path_, {.epoch = 2});
  EXPECT_EQ(Checkpoint(model).restore(path_).epoch, 2);
  std::string damaged = content_of(path_);
  const size_t place = place_of_kernel(model, damaged);
  damaged[place] = static_cast<char>(damaged[place] ^ 1);
  write(damaged);
  EXPECT_THROW(Checkpoint(model).restore(path_), FileFormatError);
}

/// Weights and the optimizer's state.
std::vector<std::vector<float>> whole_state(const Model& model) {
  std::vector<std::vector<float>> all = {all_values(model)};
  for (const OptimizerVariable& variable : model.optimizer().node().shared_variables_for_file())
    all.push_back(ops::cast(variable.value, DType::float32).to_vector<float>());
  return all;
}

/// Names, links and sizes: what a flipped bit changes is an error, or nothing that the model would notice.
TEST_F(ChecksumsInFiles, NoFlippedBitOutsideOfTheValuesLosesAnything) {
  const auto made = [] {
    const Model model = Sequential({Input({2}), Dense(2, {.name = "a"}), Dense(1, {.name = "b"})});
    model.compile({.optimizer = "adam", .loss = "mse"});
    return model;
  };
  const Model model = made();
  model.train_on_batch(Tensor::ones({2, 2}), Tensor::ones({2, 1}));
  model.save_weights(path_);
  const std::string whole = content_of(path_);
  const auto expected = whole_state(model);
  set_log_sink([](LogChannel, std::string_view) {});
  std::vector<size_t> lost;
  size_t refused = 0;
  for (size_t place = 0; place < whole.size(); place += 11) {
    std::string damaged = whole;
    damaged[place] = static_cast<char>(damaged[place] ^ 1 << place % 8);
    write(damaged);
    const Model other = made();
    try {
      other.load_weights(path_);
      if (whole_state(other) != expected) lost.push_back(place);
    } catch (const Error&) {
      ++refused;
    }
  }
  set_log_sink({});
  EXPECT_TRUE(lost.empty()) << lost.size() << " places, the first is " << lost.front();
  EXPECT_GT(refused, 100u);
}

TEST_F(ChecksumsInFiles, ANameThatAnotherProgramAddedIsRefusedUntilTheAttributeIsGone) {
  const Model model = network();
  model.save_weights(path_);
  const auto in_file = [&](auto&& work) {
    const hid_t file = H5Fopen(path_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    work(file);
    H5Fclose(file);
  };
  in_file([](hid_t file) { H5Gclose(H5Gcreate2(file, "/more", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)); });
  try {
    model.load_weights(path_);
    FAIL() << "nothing was thrown";
  } catch (const FileFormatError& error) {
    EXPECT_NE(std::string(error.what()).find("are not those that were written"), std::string::npos)
        << error.what();
  }
  EXPECT_TRUE(model.load_weights(path_, {.verify_checksums = false}).complete());
  in_file([](hid_t file) { ASSERT_GE(H5Adelete(file, hdf5::kNamesChecksum), 0); });
  EXPECT_TRUE(model.load_weights(path_).complete());
}

}  // namespace
}  // namespace nyala
