#include <nyala/datasets/io/idx_file.h>

#include <numeric>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/tests/datasets/test_files.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala::datasets {
namespace {

Bytes idx(const std::vector<uint32_t>& sizes, const Bytes& values, uint8_t type = 8) {
  Bytes out = {0, 0, type, static_cast<uint8_t>(sizes.size())};
  for (uint32_t size : sizes)
    for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<uint8_t>(size >> shift));
  out.insert(out.end(), values.begin(), values.end());
  return out;
}

Bytes read_values(const std::filesystem::path& path, int rank) {
  IdxFile file(path, rank);
  Bytes out(static_cast<size_t>(file.shape().num_elements()));
  file.read(out);
  return out;
}

TEST(IdxFileTest, ReadsPlainAndGzip) {
  const ScratchFolder folder;
  Bytes values(2 * 3 * 4);
  std::iota(values.begin(), values.end(), 0);
  for (const Bytes& bytes : {idx({2, 3, 4}, values), gzip(idx({2, 3, 4}, values))}) {
    const auto path = write_file(folder / "images", bytes);
    EXPECT_EQ(IdxFile(path, 3).shape(), (Shape{2, 3, 4}));
    EXPECT_EQ(read_values(path, 3), values);
  }
}

TEST(IdxFileTest, ZeroRows) {
  const ScratchFolder folder;
  EXPECT_EQ(read_values(write_file(folder / "x", idx({0, 28, 28}, {})), 3), Bytes{});
}

TEST(IdxFileTest, EveryTruncationIsAnError) {
  const ScratchFolder folder;
  const Bytes whole = idx({3, 2, 2}, noise(12));
  for (size_t length = 0; length < whole.size(); ++length) {
    const Bytes part(whole.begin(), whole.begin() + length);
    EXPECT_THROW(read_values(write_file(folder / "x", part), 3), FileFormatError) << length;
    EXPECT_THROW(read_values(write_file(folder / "x.gz", gzip(part)), 3), FileFormatError) << length;
  }
}

TEST(IdxFileTest, TooLongIsAnError) {
  const ScratchFolder folder;
  const auto path = write_file(folder / "x", idx({3}, noise(4)));
  const std::string message = error_text<FileFormatError>([&] { read_values(path, 1); });
  EXPECT_EQ(message, path.string() + ": expected 11 bytes of idx head and values for shape (3,), found 12");
}

TEST(IdxFileTest, WrongMagicNumbersNameExpectedAndFound) {
  const ScratchFolder folder;
  const auto labels = write_file(folder / "labels", idx({3}, noise(3)));
  EXPECT_EQ(error_text<FileFormatError>([&] { IdxFile(labels, 3); }),
            labels.string() + ": expected the idx magic number 00 00 08 03 (unsigned bytes, 3 axes), " +
                "found 00 00 08 01");
  const auto floats = write_file(folder / "floats", idx({3}, noise(12), 0x0d));
  EXPECT_THROW(IdxFile(floats, 1), FileFormatError);
}

TEST(IdxFileTest, SizesThatTheFileCannotHoldAreRefusedBeforeAllocation) {
  const ScratchFolder folder;
  const auto path = write_file(folder / "x", idx({0xffffffffu, 0xffffffffu, 0xffffffffu}, noise(12)));
  EXPECT_THROW(IdxFile(path, 3), FileFormatError);
  const auto packed = write_file(folder / "x.gz", gzip(idx({60000, 28, 28}, noise(12))));
  const std::string message = error_text<FileFormatError>([&] { IdxFile(packed, 3); });
  EXPECT_NE(message.find("cannot hold"), std::string::npos) << message;
}

TEST(IdxFileTest, RealMnistTestHalf) {
  if (test_data().empty()) GTEST_SKIP() << "no test data: set NYALA_TEST_DATA";
  const auto folder = test_data() / "mnist";
  EXPECT_EQ(IdxFile(folder / "t10k-images-idx3-ubyte.gz", 3).shape(), (Shape{10000, 28, 28}));
  const Bytes labels = read_values(folder / "t10k-labels-idx1-ubyte.gz", 1);
  ASSERT_EQ(labels.size(), 10000u);
  EXPECT_EQ(Bytes(labels.begin(), labels.begin() + 10), (Bytes{7, 2, 1, 0, 4, 1, 4, 9, 5, 9}));
  EXPECT_EQ(std::count(labels.begin(), labels.end(), 1), 1135);
}

}  // namespace
}  // namespace nyala::datasets
