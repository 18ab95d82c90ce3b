// A file that another program shortens in place while it is loaded.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/api/layers/all.h>
#include <nyala/api/model/sequential.h>
#include <nyala/api/saving/arrays/numpy.h>
#include <nyala/api/saving/load_model.h>
#include <nyala/backend/core/error.h>
#include <nyala/files/base/file_bytes.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala {
namespace {

/// 36 MB of weights: they do not lie in memory.
Model large_model() {
  return Sequential({Input({1500}), Dense(1500), Dense(1500), Dense(1500), Dense(1500)});
}

class ShortenedFile : public testing::Test {
 protected:
  /// Loads while a thread shortens the file by half at another moment in each round: either all of it is
  /// there or an error names the path.
  void shorten_during(const std::string& name, const std::function<void(const std::string&)>& load) {
    const std::string whole = folder_.file("whole_" + name), path = folder_.file(name);
    const bool is_model = name.ends_with(".keras") || name == "m.h5";
    is_model ? large_model().save(whole) : large_model().save_weights(whole);
    int errors = 0;
    for (int round = 0; round < 30; ++round) {
      std::filesystem::copy_file(whole, path, std::filesystem::copy_options::overwrite_existing);
      std::atomic<bool> begins{false};
      std::thread other([&] {
        while (!begins) std::this_thread::yield();
        ::usleep(static_cast<useconds_t>(round * 500));
        std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
      });
      begins = true;
      try {
        load(path);
      } catch (const Error& error) {
        ++errors;
        EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
        EXPECT_TRUE(dynamic_cast<const IoError*>(&error) || dynamic_cast<const FileFormatError*>(&error));
      }
      other.join();
    }
    EXPECT_GT(errors, 0);
  }

  ScratchFolder folder_{"shortened"};
};

TEST_F(ShortenedFile, ReadOfWhatIsGoneIsAnError) {
  const std::string path = folder_.file("m.weights.h5");
  large_model().save_weights(path);
  const auto file = FileBytes::open(path);
  ASSERT_FALSE(file->in_memory());
  std::vector<std::byte> out(4096);
  file->read(0, out);
  const auto kept = file->part(0, 4096);
  EXPECT_TRUE(std::equal(out.begin(), out.end(), kept.begin()));
  std::filesystem::resize_file(path, 1 << 20);
  EXPECT_TRUE(std::equal(out.begin(), out.end(), file->part(0, 4096).begin()));
  EXPECT_THROW(file->part((1 << 20) + 70'000, 1), IoError);
  try {
    file->read((1 << 20) - 100, out);
    FAIL() << "nothing was thrown";
  } catch (const IoError& error) {
    EXPECT_NE(std::string(error.what()).find(path + "': it became shorter"), std::string::npos)
        << error.what();
  }
}

TEST_F(ShortenedFile, Weights) {
  const Model model = large_model();
  shorten_during("m.weights.h5", [&](const std::string& path) { model.load_weights(path); });
}

TEST_F(ShortenedFile, WholeModels) {
  shorten_during("m.keras", [](const std::string& path) { load_model(path); });
}

TEST_F(ShortenedFile, WholeModelsOfOldFiles) {
  shorten_during("m.h5", [](const std::string& path) { load_model(path); });
}

TEST_F(ShortenedFile, ArraysByName) {
  const Model model = large_model();
  shorten_during("m.safetensors", [&](const std::string& path) { model.load_weights(path); });
  shorten_during("m.npz", [&](const std::string& path) { load_npz(path); });
}

TEST_F(ShortenedFile, AFileThatIsWrittenToInPlaceIsAnError) {
  const std::string path = folder_.file("m.safetensors");
  large_model().save_weights(path);
  const auto file = FileBytes::open(path);
  std::vector<std::byte> out(100);
  file->read(5000, out);
  {
    std::fstream other(path, std::ios::in | std::ios::out | std::ios::binary);
    other.seekp(1 << 20);
    other.put('x');
  }
  try {
    file->read(5000, out);
    FAIL() << "nothing was thrown";
  } catch (const IoError& error) {
    EXPECT_NE(std::string(error.what()).find(path + "': another program wrote to it"), std::string::npos)
        << error.what();
  }
}

TEST_F(ShortenedFile, AFileThatIsReplacedIsReadAsItWas) {
  const std::string path = folder_.file("m.safetensors");
  large_model().save_weights(path);
  const auto file = FileBytes::open(path);
  std::vector<std::byte> before(1000), after(1000);
  file->read(30 << 20, before);
  large_model().save_weights(path);
  file->read(30 << 20, after);
  EXPECT_EQ(before, after);
}

}  // namespace
}  // namespace nyala
