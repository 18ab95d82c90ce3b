#include <algorithm>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/datasets/cifar10.h>
#include <nyala/datasets/cifar100.h>
#include <nyala/tests/datasets/test_files.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala::datasets {
namespace {

namespace fs = std::filesystem;

constexpr size_t kImage = 3072;

void append(Bytes& out, const std::string& text) { out.insert(out.end(), text.begin(), text.end()); }
/// A literal with zero bytes in it.
template <size_t kSize>
void append_raw(Bytes& out, const char (&text)[kSize]) {
  out.insert(out.end(), text, text + kSize - 1);
}
void append_little(Bytes& out, uint64_t value, size_t size) {
  for (size_t i = 0; i < size; ++i) out.push_back(static_cast<uint8_t>(value >> (8 * i)));
}
void append_key(Bytes& out, const std::string& key) {
  append(out, "U" + std::string(1, static_cast<char>(key.size())) + key);
}
/// BININT1s in a list.
void append_list(Bytes& out, const std::string& key, const Bytes& values) {
  append_key(out, key);
  append(out, "](");
  for (const uint8_t value : values) out.insert(out.end(), {'K', value});
  append(out, "e");
}

/// A batch as Python 2 wrote the published ones, with `rows` images.
Bytes cifar_pickle(size_t rows, const std::vector<std::pair<std::string, Bytes>>& labels, uint8_t level) {
  Bytes out = {0x80, 2, '}', '('};
  for (const auto& [key, values] : labels) append_list(out, key, values);
  append_key(out, "data");
  append(out, "cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\n");
  append_raw(out, "K\0\x85U\1b\x87R(K\1J");
  append_little(out, rows, 4);
  append_raw(out,
             "M\0\x0c\x86"
             "cnumpy\ndtype\nU\2u1K\0K\1\x87R(K\3U\1|NNN");
  append_raw(out, "J\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb\x89T");
  append_little(out, rows * kImage, 4);
  const size_t first = out.size();
  out.resize(first + rows * kImage);
  Bytes image(kImage);  // planes that tell colour and place; the first byte tells the row
  for (size_t i = 0; i < kImage; ++i) image[i] = static_cast<uint8_t>(i / 1024 * 50 + i % 40 + level);
  for (size_t row = 0; row < rows; ++row) {
    image[0] = static_cast<uint8_t>(row % 10 + level);
    std::copy(image.begin(), image.end(), out.begin() + static_cast<std::ptrdiff_t>(first + row * kImage));
  }
  append(out, "tbu.");
  return out;
}

Bytes labels_from(size_t rows, size_t first, size_t classes) {
  Bytes out;
  for (size_t i = 0; i < rows; ++i) out.push_back(static_cast<uint8_t>((first + i) % classes));
  return out;
}

TEST(CifarPicklesTest, BatchesBecomeRowsOfPixels) {
  const ScratchFolder folder;
  const Bytes pickle = cifar_pickle(3, {{"labels", {4, 0, 9}}}, 1);
  for (const Bytes& bytes : {pickle, gzip(pickle)}) {
    const Arrays arrays = load_cifar10_batch(write_file(folder / "data_batch_1", bytes));
    ASSERT_EQ(arrays.x.shape(), (Shape{3, 32, 32, 3}));
    EXPECT_EQ(arrays.y.to_vector<int64_t>(), (std::vector<int64_t>{4, 0, 9}));
    for (size_t row = 0; row < 3; ++row)
      for (size_t pixel = 0; pixel < 1024; ++pixel)
        for (size_t c = 0; c < 3; ++c)
          ASSERT_EQ(arrays.x.data<uint8_t>()[(row * 1024 + pixel) * 3 + c],
                    c * 50 + (c * 1024 + pixel == 0 ? row : (c * 1024 + pixel) % 40) + 1);
  }
}

TEST(CifarPicklesTest, FineAndCoarseLabels) {
  const ScratchFolder folder;
  const auto path =
      write_file(folder / "test", cifar_pickle(2, {{"fine_labels", {99, 3}}, {"coarse_labels", {19, 7}}}, 0));
  EXPECT_EQ(load_cifar100_batch(path).y.to_vector<int64_t>(), (std::vector<int64_t>{99, 3}));
  EXPECT_EQ(load_cifar100_batch(path, {"coarse"}).y.to_vector<int64_t>(), (std::vector<int64_t>{19, 7}));
  Bytes record = {19, 99};  // the binary version: coarse, then fine
  record.resize(2 + kImage, 5);
  const auto binary = write_file(folder / "test.bin", record);
  EXPECT_EQ(load_cifar100_batch(binary).y.to_vector<int64_t>(), (std::vector<int64_t>{99}));
  EXPECT_EQ(load_cifar100_batch(binary, {"coarse"}).y.to_vector<int64_t>(), (std::vector<int64_t>{19}));
  EXPECT_THROW(load_cifar100_batch(path, {"labels"}), InvalidArgumentError);
  EXPECT_THROW(load_cifar10_batch(path), FileFormatError) << "no key 'labels'";
}

TEST(CifarPicklesTest, DamagedBatchesNameFileAndRow) {
  const ScratchFolder folder;
  const auto fails = [&](const Bytes& bytes) {
    return error_text<FileFormatError>([&] { load_cifar10_batch(write_file(folder / "b", bytes)); });
  };
  EXPECT_EQ(fails(cifar_pickle(2, {{"labels", {1, 10}}}, 0)),
            (folder / "b").string() + ": expected labels from 0 to 9, found 10 in record 1");
  EXPECT_NE(fails(cifar_pickle(2, {{"labels", {1}}}, 0)).find("expected 2 'labels'"), std::string::npos);
  EXPECT_NE(fails(cifar_pickle(2, {}, 0)).find("expected a key 'labels'"), std::string::npos);
  Bytes cut = cifar_pickle(2, {{"labels", {1, 2}}}, 0);
  cut.resize(cut.size() - 100);
  EXPECT_NE(fails(cut), "");
}

/// Data sets of the published size in a home of their own.
class CifarHomeTest : public testing::Test {
 protected:
  ScratchFolder folder_;
  ScopedEnvironment data_{"NYALA_DATA_DIR", nullptr};
  ScopedEnvironment home_{"HOME", folder_.path().c_str()};
  ScopedEnvironment own_{"NYALA_HOME", (folder_ / "own").c_str()};
  // Nothing may be downloaded here.
  ScopedEnvironment proxy_{"https_proxy", "http://127.0.0.1:9"}, all_{"ALL_PROXY", "http://127.0.0.1:9"};

  static void write_ten(const fs::path& folder) {
    for (size_t i = 1; i <= 5; ++i)
      write_file(folder / ("data_batch_" + std::to_string(i)),
                 cifar_pickle(10000, {{"labels", labels_from(10000, i, 10)}}, static_cast<uint8_t>(i)));
    write_file(folder / "test_batch", cifar_pickle(10000, {{"labels", labels_from(10000, 6, 10)}}, 6));
  }
  static void expect_ten(const TrainTest& data) {
    ASSERT_EQ(data.train.x.shape(), (Shape{50000, 32, 32, 3}));
    ASSERT_EQ(data.test.y.shape(), (Shape{10000, 1}));
    for (size_t i = 0; i < 5; ++i) {
      EXPECT_EQ(data.train.y.data<int64_t>()[i * 10000], static_cast<int64_t>(i + 1));
      EXPECT_EQ(data.train.x.data<uint8_t>()[i * 10000 * kImage], i + 1);
    }
    EXPECT_EQ(data.test.y.data<int64_t>()[0], 6);
  }
};

TEST_F(CifarHomeTest, TenFromTheFoldersOfKerasAndNyala) {
  const fs::path keras = folder_ / ".keras/datasets";
  write_ten(keras / "cifar-10-batches-py");
  expect_ten(cifar10());
  fs::create_directories(keras / "cifar-10-batches-py-target");
  fs::rename(keras / "cifar-10-batches-py", keras / "cifar-10-batches-py-target/cifar-10-batches-py");
  expect_ten(cifar10());
  fs::create_directories(folder_ / "own/datasets/cifar10");
  fs::rename(keras / "cifar-10-batches-py-target/cifar-10-batches-py",
             folder_ / "own/datasets/cifar10/cifar-10-batches-py");
  expect_ten(cifar10());
  fs::remove(folder_ / "own/datasets/cifar10/cifar-10-batches-py/test_batch");
  const std::string missing = error_text<FileFormatError>([] { cifar10(); });
  EXPECT_NE(missing.find("expected a file test_batch in it"), std::string::npos) << missing;
}

TEST_F(CifarHomeTest, TenFromArchives) {
  write_ten(folder_ / "unpacked/cifar-10-batches-py");
  const fs::path keras = folder_ / ".keras/datasets";
  fs::create_directories(keras);
  const std::string command = "tar -C " + (folder_ / "unpacked").string() +
                              " -cf - cifar-10-batches-py | gzip -1 > " +
                              (keras / "cifar-10-batches-py.tar.gz").string();
  if (std::system(command.c_str()) != 0) GTEST_SKIP() << "no tar command here";
  expect_ten(cifar10());
  fs::rename(keras / "cifar-10-batches-py.tar.gz", keras / "cifar-10-batches-py-target_archive");
  expect_ten(cifar10());
}

TEST_F(CifarHomeTest, HundredFromPickles) {
  const fs::path folder = folder_ / "own/datasets/cifar-100-python";
  write_file(folder / "train", cifar_pickle(50000,
                                            {{"coarse_labels", labels_from(50000, 3, 20)},
                                             {"fine_labels", labels_from(50000, 77, 100)}},
                                            0));
  write_file(folder / "test", cifar_pickle(10000,
                                           {{"coarse_labels", labels_from(10000, 4, 20)},
                                            {"fine_labels", labels_from(10000, 78, 100)}},
                                           0));
  const TrainTest fine = cifar100();
  EXPECT_EQ(fine.train.x.shape(), (Shape{50000, 32, 32, 3}));
  EXPECT_EQ(fine.train.y.data<int64_t>()[0], 77);
  EXPECT_EQ(fine.test.y.data<int64_t>()[1], 79);
  EXPECT_EQ(cifar100({.label_mode = "coarse"}).test.y.data<int64_t>()[0], 4);
  write_file(folder / "test", cifar_pickle(9999,
                                           {{"coarse_labels", labels_from(9999, 4, 20)},
                                            {"fine_labels", labels_from(9999, 78, 100)}},
                                           0));
  EXPECT_NE(error_text<FileFormatError>([] { cifar100(); }).find("expected 10000 images, found 9999"),
            std::string::npos);
}

TEST_F(CifarHomeTest, SaysWhereToPutItWhenItCannotBeDownloaded) {
  const std::string message = error_text<IoError>([] { cifar100(); });
  EXPECT_NE(message.find("cifar-100-python.tar.gz"), std::string::npos) << message;
  EXPECT_NE(message.find((folder_ / "own/datasets/cifar100").string()), std::string::npos) << message;
}

}  // namespace
}  // namespace nyala::datasets
