#include <nyala/datasets/io/byte_reader.h>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/tests/datasets/test_files.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala::datasets {
namespace {

Bytes read_all(const std::filesystem::path& path, size_t piece, uint64_t limit = ByteReader::kNoLimit) {
  ByteReader reader(path, limit);
  Bytes out, buffer(piece);
  while (const size_t count = reader.read(buffer))
    out.insert(out.end(), buffer.begin(), buffer.begin() + count);
  EXPECT_EQ(reader.position(), out.size());
  return out;
}

TEST(ByteReaderTest, PlainAndGzipGiveTheSameBytes) {
  const ScratchFolder folder;
  for (size_t size : {0u, 1u, 2u, 3u, 65535u, 65536u, 65537u, 300000u}) {
    const Bytes bytes = noise(size);
    const auto plain = write_file(folder / "plain", bytes),
               packed = write_file(folder / "packed", gzip(bytes));
    for (size_t piece : {1u, 1000u, 100000u, 400000u}) {
      if (piece == 1 && size > 1000) continue;
      EXPECT_EQ(read_all(plain, piece), bytes) << size;
      EXPECT_EQ(read_all(packed, piece), bytes) << size;
    }
  }
}

TEST(ByteReaderTest, SeveralMembersAreOneStream) {
  const ScratchFolder folder;
  Bytes file = gzip({1, 2, 3});
  const Bytes empty = gzip({}), second = gzip({4, 5});
  file.insert(file.end(), empty.begin(), empty.end());
  file.insert(file.end(), second.begin(), second.end());
  EXPECT_EQ(read_all(write_file(folder / "x", file), 2), (Bytes{1, 2, 3, 4, 5}));
}

TEST(ByteReaderTest, EveryTruncationOfAGzipFileIsAnError) {
  const ScratchFolder folder;
  const Bytes packed = gzip(noise(200));
  for (size_t length = 2; length < packed.size(); ++length) {
    const auto path = write_file(folder / "x", Bytes(packed.begin(), packed.begin() + length));
    const std::string message = error_text<FileFormatError>([&] { read_all(path, 64); });
    EXPECT_NE(message.find(path.string()), std::string::npos) << message;
  }
}

TEST(ByteReaderTest, AChangedBitIsAnErrorOrChangesNothing) {
  const ScratchFolder folder;
  Bytes bytes = noise(60);
  bytes.resize(400, 7);
  const Bytes packed = gzip(bytes);
  int errors = 0;
  for (size_t bit = 16; bit < packed.size() * 8; ++bit) {  // without the magic number it is a plain file
    Bytes damaged = packed;
    damaged[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
    const auto path = write_file(folder / "x", damaged);
    try {
      EXPECT_EQ(read_all(path, 64), bytes) << "bit " << bit;
    } catch (const FileFormatError&) {
      ++errors;
    }
  }
  EXPECT_GT(errors, static_cast<int>(packed.size() - 10) * 7) << "only the head has bits without a meaning";
}

TEST(ByteReaderTest, GarbageBehindTheStreamIsAnError) {
  const ScratchFolder folder;
  for (const Bytes& tail :
       {Bytes{0}, Bytes{'x', 'y'}, Bytes{0x1f}, Bytes{0x1f, 0x8b}, Bytes{0x1f, 0x00, 0x01}}) {
    Bytes file = gzip({1, 2, 3});
    file.insert(file.end(), tail.begin(), tail.end());
    const auto path = write_file(folder / "x", file);
    EXPECT_THROW(read_all(path, 64), FileFormatError);
  }
}

TEST(ByteReaderTest, TheLimitStopsAnUnpackingBomb) {
  const ScratchFolder folder;
  const auto path = write_file(folder / "bomb.gz", gzip(Bytes(50'000'000, 0)));
  EXPECT_EQ(read_all(path, 1 << 20, 50'000'000).size(), 50'000'000u);
  const std::string message = error_text<FileFormatError>([&] { read_all(path, 1 << 20, 49'999'999); });
  EXPECT_NE(message.find("at most 49999999 bytes"), std::string::npos) << message;
}

TEST(ByteReaderTest, ShortReadsAndLeftoversAreNamed) {
  const ScratchFolder folder;
  const auto path = write_file(folder / "x", {1, 2, 3});
  Bytes four(4), two(2);
  EXPECT_EQ(error_text<FileFormatError>([&] { ByteReader(path).read_exactly(four, "labels"); }),
            path.string() + ": expected 4 bytes of labels, found 3 before the end of the file");
  ByteReader reader(path);
  reader.read_exactly(two, "labels");
  EXPECT_EQ(error_text<FileFormatError>([&] { reader.expect_end("labels"); }),
            path.string() + ": expected 2 bytes of labels, found 3");
}

TEST(ByteReaderTest, MissingFilesAndFoldersAreIoErrors) {
  const ScratchFolder folder;
  EXPECT_THROW(ByteReader(folder / "absent"), IoError);
  EXPECT_THROW(ByteReader(folder.path()), IoError);
}

}  // namespace
}  // namespace nyala::datasets
