#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/datasets/cifar10.h>
#include <nyala/datasets/fashion_mnist.h>
#include <nyala/datasets/mnist.h>
#include <nyala/tests/datasets/test_files.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala::datasets {

using namespace nyala::datasets::detail;
namespace {

std::vector<int> label_counts(const Tensor& labels) {
  std::vector<int> counts(10);
  for (int64_t label : labels.data<int64_t>()) ++counts.at(static_cast<size_t>(label));
  return counts;
}

double mean_of(const Tensor& images) {
  uint64_t sum = 0;
  for (uint8_t pixel : images.data<uint8_t>()) sum += pixel;
  return static_cast<double>(sum) / static_cast<double>(images.num_elements());
}

/// A pair of idx files with `images` images of 2x2 and `labels` labels.
struct IdxPair {
  std::filesystem::path images, labels;
};
IdxPair write_pair(const ScratchFolder& folder, uint8_t images, const Bytes& labels) {
  Bytes x = {0, 0, 8, 3, 0, 0, 0, images, 0, 0, 0, 2, 0, 0, 0, 2};
  const Bytes pixels = noise(size_t{images} * 4);
  x.insert(x.end(), pixels.begin(), pixels.end());
  Bytes y = {0, 0, 8, 1, 0, 0, 0, static_cast<uint8_t>(labels.size())};
  y.insert(y.end(), labels.begin(), labels.end());
  return {write_file(folder / "images", x), write_file(folder / "labels.gz", gzip(y))};
}

TEST(LoadersTest, IdxPairsBecomeArrays) {
  const ScratchFolder folder;
  const auto pair = write_pair(folder, 3, {4, 0, 9});
  const Arrays arrays = load_idx_arrays(pair.images, pair.labels);
  EXPECT_EQ(arrays.x.shape(), (Shape{3, 2, 2, 1}));
  EXPECT_EQ(arrays.x.to_vector<uint8_t>(), noise(12));
  EXPECT_EQ(arrays.y.to_vector<int64_t>(), (std::vector<int64_t>{4, 0, 9}));
}

TEST(LoadersTest, PairsThatDifferAndLabelsOutOfRangeAreErrors) {
  const ScratchFolder folder;
  const auto pair = write_pair(folder, 3, {1, 2});
  const std::string message = error_text<FileFormatError>([&] { load_idx_arrays(pair.images, pair.labels); });
  EXPECT_EQ(message, pair.labels.string() + ": expected 3 labels as there are images in " +
                         pair.images.string() + ", found 2");
  const auto wrong = write_pair(folder, 3, {1, 10, 2});
  const std::string text = error_text<FileFormatError>([&] { load_idx_arrays(wrong.images, wrong.labels); });
  EXPECT_EQ(text, wrong.labels.string() + ": expected labels from 0 to 9, found 10 in row 1");
}

TEST(LoadersTest, FashionMnistFromTheDebianPackage) {
  if (!std::filesystem::exists("/usr/share/datasets/fashion-mnist"))
    GTEST_SKIP() << "the package dataset-fashion-mnist is not installed";
  const ScratchFolder home;
  const ScopedEnvironment no_data("NYALA_DATA_DIR", nullptr), no_home("HOME", home.path().c_str());
  const auto [train, test] = fashion_mnist();
  EXPECT_EQ(train.x.shape(), (Shape{60000, 28, 28, 1}));
  EXPECT_EQ(test.x.shape(), (Shape{10000, 28, 28, 1}));
  EXPECT_EQ(train.x.dtype(), DType::uint8);
  EXPECT_EQ(train.y.shape(), Shape{60000});
  EXPECT_EQ(label_counts(train.y), std::vector<int>(10, 6000));
  EXPECT_EQ(label_counts(test.y), std::vector<int>(10, 1000));
  // The mean of the training images that the literature normalises with: 0.2860.
  EXPECT_NEAR(mean_of(train.x) / 255, 0.2860, 5e-5);
  const auto first = train.y.data<int64_t>().first(5);
  EXPECT_EQ(std::vector<int64_t>(first.begin(), first.end()), (std::vector<int64_t>{9, 0, 0, 3, 0}));
}

TEST(LoadersTest, FilesOfAnotherSizeThanTheSetAreErrors) {
  const ScratchFolder folder;
  const ScopedEnvironment data("NYALA_DATA_DIR", folder.path().c_str());
  const auto pair = write_pair(folder, 2, {1, 2});
  std::filesystem::create_directories(folder / "mnist");
  for (const std::string prefix : {"train", "t10k"}) {
    std::filesystem::copy(pair.images, folder / ("mnist/" + prefix + "-images-idx3-ubyte"));
    std::filesystem::copy(pair.labels, folder / ("mnist/" + prefix + "-labels-idx1-ubyte.gz"));
  }
  const std::string message = error_text<FileFormatError>([] { mnist(); });
  EXPECT_EQ(message, (folder / "mnist/train-images-idx3-ubyte").string() +
                         ": expected images of shape (60000, 28, 28, 1), found (2, 2, 2, 1)");
}

TEST(LoadersTest, RealMnistTestHalf) {
  if (test_data().empty()) GTEST_SKIP() << "no test data: set NYALA_TEST_DATA";
  const auto folder = test_data() / "mnist";
  const Arrays test =
      load_idx_arrays(folder / "t10k-images-idx3-ubyte.gz", folder / "t10k-labels-idx1-ubyte.gz");
  EXPECT_EQ(test.x.shape(), (Shape{10000, 28, 28, 1}));
  EXPECT_EQ(label_counts(test.y), (std::vector<int>{980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009}));
}

constexpr size_t kRecord = 3073;

/// Records whose pixel values tell their place: red, green and blue planes of 32x32.
Bytes cifar_records(size_t count, uint8_t label) {
  Bytes out;
  for (size_t row = 0; row < count; ++row) {
    out.push_back(static_cast<uint8_t>((label + row) % 10));
    for (size_t i = 0; i < 3072; ++i) out.push_back(static_cast<uint8_t>(i / 1024 * 80 + (i + row) % 79));
  }
  return out;
}

TEST(LoadersTest, CifarRecordsBecomeRowsOfPixels) {
  const ScratchFolder folder;
  const Bytes records = cifar_records(5, 7);
  for (const Bytes& bytes : {records, gzip(records)}) {
    const Arrays arrays = load_cifar10_batch(write_file(folder / "x.bin", bytes));
    ASSERT_EQ(arrays.x.shape(), (Shape{5, 32, 32, 3}));
    EXPECT_EQ(arrays.y.shape(), (Shape{5, 1}));
    EXPECT_EQ(arrays.y.to_vector<int64_t>(), (std::vector<int64_t>{7, 8, 9, 0, 1}));
    const auto pixels = arrays.x.data<uint8_t>();
    for (size_t row = 0; row < 5; ++row)
      for (size_t pixel = 0; pixel < 1024; ++pixel)
        for (size_t channel = 0; channel < 3; ++channel)
          ASSERT_EQ(pixels[(row * 1024 + pixel) * 3 + channel],
                    records[row * kRecord + 1 + channel * 1024 + pixel]);
  }
}

TEST(LoadersTest, DamagedCifarRecordsAreErrors) {
  const ScratchFolder folder;
  Bytes records = cifar_records(3, 0);
  records[kRecord] = 10;
  const auto path = write_file(folder / "x.bin", records);
  EXPECT_EQ(error_text<FileFormatError>([&] { load_cifar10_batch(path); }),
            path.string() + ": expected labels from 0 to 9, found 10 in record 1");
  records.pop_back();
  EXPECT_THROW(load_cifar10_batch(write_file(folder / "x.bin", records)), FileFormatError);
}

TEST(LoadersTest, RealCifarImages) {
  if (test_data().empty()) GTEST_SKIP() << "no test data: set NYALA_TEST_DATA";
  const Arrays test = load_cifar10_batch(test_data() / "cifar10/lossless_test_761.bin.gz");
  EXPECT_EQ(test.x.shape(), (Shape{761, 32, 32, 3}));
  // Photographs: about the mean that the literature normalises with (0.473), neighbours alike.
  EXPECT_NEAR(mean_of(test.x) / 255, 0.473, 0.03);
  const auto pixels = test.x.data<uint8_t>();
  double across = 0;
  for (size_t i = 3; i < pixels.size(); ++i) across += std::abs(int{pixels[i]} - int{pixels[i - 3]});
  EXPECT_LT(across / static_cast<double>(pixels.size()), 20);
}

class CifarFolderTest : public testing::Test {
 protected:
  ScratchFolder folder_;
  ScopedEnvironment data_{"NYALA_DATA_DIR", folder_.path().c_str()};
  ScopedEnvironment home_{"HOME", folder_.path().c_str()};

  std::filesystem::path write_batches(const std::string& below) {
    const std::filesystem::path root = folder_ / below;
    for (uint8_t i = 1; i <= 5; ++i)
      write_file(root / ("data_batch_" + std::to_string(i) + ".bin"), cifar_records(10000, i));
    write_file(root / "test_batch.bin", cifar_records(10000, 6));
    return root;
  }
  static void expect_all(const TrainTest& data) {
    ASSERT_EQ(data.train.x.shape(), (Shape{50000, 32, 32, 3}));
    ASSERT_EQ(data.test.y.shape(), (Shape{10000, 1}));
    for (size_t batch = 0; batch < 5; ++batch)
      EXPECT_EQ(data.train.y.data<int64_t>()[batch * 10000], static_cast<int64_t>(batch + 1));
    EXPECT_EQ(data.test.y.data<int64_t>()[0], 6);
  }
};

TEST_F(CifarFolderTest, ReadsTheFolderAndNamesWhatIsMissing) {
  const auto root = write_batches("cifar10/cifar-10-batches-bin");
  expect_all(cifar10());
  std::filesystem::resize_file(root / "data_batch_3.bin", 30'729'999);
  const std::string message = error_text<FileFormatError>([] { cifar10(); });
  EXPECT_EQ(message, (root / "data_batch_3.bin").string() +
                         ": expected 30730000 bytes (10000 records of 3073), found 30729999");
  std::filesystem::remove(root / "data_batch_3.bin");
  const std::string missing = error_text<FileFormatError>([] { cifar10(); });
  EXPECT_NE(missing.find("expected a file data_batch_3.bin"), std::string::npos) << missing;
}

TEST_F(CifarFolderTest, ReadsTheArchive) {
  write_batches("unpacked/cifar-10-batches-bin");
  const std::string command = "tar -C " + (folder_ / "unpacked").string() + " -czf " +
                              (folder_ / "cifar-10-binary.tar.gz").string() + " cifar-10-batches-bin";
  if (std::system(command.c_str()) != 0) GTEST_SKIP() << "no tar command here";
  expect_all(cifar10());
}

TEST_F(CifarFolderTest, SaysWhereToPutItWhenItIsNotThere) {
  const ScopedEnvironment proxy("https_proxy", "http://127.0.0.1:9");  // nothing may be downloaded here
  const std::string message = error_text<IoError>([] { cifar10(); });
  EXPECT_NE(message.find("cifar-10-python.tar.gz"), std::string::npos) << message;
  EXPECT_NE(message.find((folder_ / "cifar10").string()), std::string::npos) << message;
}

}  // namespace
}  // namespace nyala::datasets
