#include <nyala/datasets/io/tar_reader.h>

#include <cstdio>
#include <map>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/tests/datasets/test_files.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala::datasets {
namespace {

/// A header and padded content, laid out as POSIX says.
Bytes entry(const std::string& name, const Bytes& content, char type = '0', const std::string& prefix = "") {
  Bytes block(512, 0);
  const auto put = [&](size_t at, const std::string& text) {
    std::copy(text.begin(), text.end(), block.begin() + at);
  };
  char number[16];
  put(0, name);
  put(100, "0000644");
  std::snprintf(number, sizeof number, "%011zo", content.size());
  put(124, number);
  put(148, "        ");
  block[156] = static_cast<uint8_t>(type);
  put(257, "ustar");
  put(263, "00");
  put(345, prefix);
  unsigned sum = 0;
  for (uint8_t byte : block) sum += byte;
  std::snprintf(number, sizeof number, "%06o", sum);
  put(148, std::string(number) + '\0' + ' ');
  block.insert(block.end(), content.begin(), content.end());
  block.resize((block.size() + 511) / 512 * 512, 0);
  return block;
}

Bytes archive(const std::vector<Bytes>& entries) {
  Bytes out;
  for (const Bytes& one : entries) out.insert(out.end(), one.begin(), one.end());
  out.resize(out.size() + 1024, 0);
  return out;
}

std::map<std::string, Bytes> read_archive(const std::filesystem::path& path) {
  ByteReader source(path);
  TarReader tar(source);
  TarEntry found;
  std::map<std::string, Bytes> out;
  while (tar.next(found)) {
    out[found.name].resize(found.size);
    tar.read(out[found.name]);
  }
  return out;
}

TEST(TarReaderTest, ReadsFilesAndPassesOverFolders) {
  const ScratchFolder folder;
  const Bytes first = noise(700), second = noise(512, 2);
  const Bytes tar = archive({entry("set/", {}, '5'), entry("set/a.bin", first), entry("empty", {}),
                             entry("b.bin", second, '0', "long/prefix"), entry("pax", noise(30), 'x')});
  for (const Bytes& bytes : {tar, gzip(tar)}) {
    const auto found = read_archive(write_file(folder / "x.tar", bytes));
    ASSERT_EQ(found.size(), 3u);
    EXPECT_EQ(found.at("set/a.bin"), first);
    EXPECT_EQ(found.at("empty"), Bytes{});
    EXPECT_EQ(found.at("long/prefix/b.bin"), second);
  }
}

TEST(TarReaderTest, UnreadContentIsPassedOver) {
  const ScratchFolder folder;
  ByteReader source(write_file(folder / "x.tar", archive({entry("a", noise(2000)), entry("b", {7})})));
  TarReader tar(source);
  TarEntry found;
  ASSERT_TRUE(tar.next(found));
  Bytes some(100), one(1), two(2);
  tar.read(some);
  ASSERT_TRUE(tar.next(found));
  EXPECT_EQ(found.name, "b");
  EXPECT_THROW(tar.read(two), FileFormatError);
  tar.read(one);
  EXPECT_EQ(one[0], 7);
  EXPECT_FALSE(tar.next(found));
}

TEST(TarReaderTest, EveryTruncationBeforeTheEndMarkIsAnError) {
  const ScratchFolder folder;
  const Bytes whole = archive({entry("a", noise(600)), entry("b", noise(5))});
  for (size_t length = 0; length < whole.size() - 512; length += 37)
    EXPECT_THROW(read_archive(write_file(folder / "x", Bytes(whole.begin(), whole.begin() + length))),
                 FileFormatError)
        << length;
}

TEST(TarReaderTest, DamagedHeadersAndLinksAreErrors) {
  const ScratchFolder folder;
  for (size_t at : {0u, 100u, 124u, 134u, 148u, 156u, 257u}) {
    Bytes damaged = archive({entry("a", noise(600))});
    damaged[at] ^= 1;
    EXPECT_THROW(read_archive(write_file(folder / "x", damaged)), FileFormatError) << "byte " << at;
  }
  EXPECT_THROW(read_archive(write_file(folder / "x", archive({entry("a", {}, '2')}))), FileFormatError);
}

TEST(TarReaderTest, ReadsWhatTarWrites) {
  const ScratchFolder folder;
  const Bytes content = noise(5000);
  write_file(folder / "in/deep/file.bin", content);
  const std::string command =
      "tar -C " + folder.path().string() + " -czf " + (folder / "x.tar.gz").string() + " in";
  if (std::system(command.c_str()) != 0) GTEST_SKIP() << "no tar command here";
  EXPECT_EQ(read_archive(folder / "x.tar.gz").at("in/deep/file.bin"), content);
}

}  // namespace
}  // namespace nyala::datasets
