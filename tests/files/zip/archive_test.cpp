#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <zlib.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/random.h>
#include <nyala/files/base/file_bytes.h>
#include <nyala/files/zip/archive.h>
#include <nyala/files/zip/archive_writer.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala::zip {
namespace {

std::string text_of(const Content& content) {
  return {reinterpret_cast<const char*>(content.bytes.bytes().data()), content.bytes.size()};
}

Archive open(const std::string& path) { return Archive(FileBytes::open(path)); }

Archive in_memory(const std::string& bytes) {
  const auto owner = std::make_shared<std::string>(bytes);
  return Archive(std::as_bytes(std::span(*owner)), owner, "m.zip");
}

std::string file_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// An archive with two members, as a string.
std::string sample() {
  const ScratchFolder folder("zip_sample");
  ArchiveWriter writer(folder.file("a.zip"));
  writer.add("config.json", "{\"a\": 1}");
  writer.add("deep/weights.bin", std::string(3000, 'w'));
  writer.commit();
  return file_text(folder.file("a.zip"));
}

void put(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

struct HandMade {
  std::string name = "x.txt";
  std::string packed;
  uint32_t size = 0;
  uint32_t crc = 0;
  uint16_t method = 0;
  uint16_t flags = 0;
};

/// One member, written by hand: what an ArchiveWriter refuses to make.
std::string archive_of(const HandMade& m, int copies = 1) {
  std::string out, directory;
  for (int i = 0; i < copies; ++i) {
    const uint64_t begin = out.size();
    for (bool central : {false, true}) {
      std::string& to = central ? directory : out;
      put(to, central ? 0x02014b50 : 0x04034b50, 4);
      if (central) put(to, 20, 2);
      put(to, 20, 2);
      put(to, m.flags, 2);
      put(to, m.method, 2);
      put(to, 0, 4);
      put(to, m.crc, 4);
      put(to, m.packed.size(), 4);
      put(to, m.size, 4);
      put(to, m.name.size(), 2);
      put(to, 0, 2);
      if (central) put(to, 0, 8), put(to, 0, 2), put(to, begin, 4);
      to += m.name;
      if (!central) to += m.packed;
    }
  }
  const uint64_t begin = out.size();
  out += directory;
  put(out, 0x06054b50, 4);
  put(out, 0, 4);
  put(out, static_cast<uint64_t>(copies), 2);
  put(out, static_cast<uint64_t>(copies), 2);
  put(out, directory.size(), 4);
  put(out, begin, 4);
  put(out, 0, 2);
  return out;
}

HandMade stored(const std::string& name, const std::string& text) {
  const auto crc = crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size()));
  return {name, text, static_cast<uint32_t>(text.size()), static_cast<uint32_t>(crc)};
}

HandMade deflated(const std::string& text) {
  HandMade m = stored("x.txt", text);
  std::vector<Bytef> out(compressBound(text.size()) + 64);
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  m.packed.assign(reinterpret_cast<char*>(out.data()), stream.total_out);
  deflateEnd(&stream);
  m.method = Z_DEFLATED;
  return m;
}

void expect_refused(const std::string& bytes, const std::string& reason) {
  try {
    const Archive archive = in_memory(bytes);
    for (const Member& member : archive.members()) archive.read(member.name);
    ADD_FAILURE() << "not refused: " << reason;
  } catch (const FileFormatError& error) {
    EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
  }
}

TEST(ZipArchive, WhatWasWrittenIsRead) {
  const ScratchFolder folder("zip");
  const std::string path = folder.file("a.zip");
  ArchiveWriter writer(path);
  writer.add("metadata.json", "{}");
  const std::string big(70000, 'b');
  writer.add("assets/a.txt", big);
  writer.add("empty", "");
  writer.commit();
  const Archive archive = open(path);
  ASSERT_EQ(archive.members().size(), 3u);
  EXPECT_EQ(archive.members()[1].name, "assets/a.txt");
  EXPECT_EQ(text_of(archive.read("metadata.json")), "{}");
  EXPECT_EQ(text_of(archive.read("assets/a.txt")), big);
  EXPECT_EQ(text_of(archive.read("empty")), "");
  EXPECT_FALSE(archive.has("other"));
  EXPECT_THROW(archive.read("other"), NotFoundError);
}

TEST(ZipArchive, StoredContentIsNotCopied) {
  const auto bytes = std::make_shared<std::string>(sample());
  const Archive archive(std::as_bytes(std::span(*bytes)), bytes, "m.zip");
  const auto* data = reinterpret_cast<const char*>(archive.read("deep/weights.bin").bytes.bytes().data());
  EXPECT_GE(data, bytes->data());
  EXPECT_LT(data, bytes->data() + bytes->size());
}

TEST(ZipArchive, DeflatedContentIsUnpacked) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += std::to_string(i * 7919);
  EXPECT_EQ(text_of(in_memory(archive_of(deflated(text))).read("x.txt")), text);
}

/// From any byte on; a bit that is wrong before or behind it is found.
TEST(ZipArchive, ContentIsCopiedWithItsChecksum) {
  std::string text;
  for (int i = 0; text.size() < 700000; ++i) text += std::to_string(i * 7919);
  const auto behind = [](const std::string& bytes, size_t begin, size_t size) {
    const Archive archive = in_memory(bytes);
    std::string out(size - begin, ' ');
    archive.read_to("x.txt", begin, std::as_writable_bytes(std::span(out)));
    return out;
  };
  for (const HandMade& member : {stored("x.txt", text), deflated(text)})
    for (const size_t begin : {size_t{0}, size_t{128}, size_t{300000}, text.size()})
      EXPECT_EQ(behind(archive_of(member), begin, text.size()), text.substr(begin));
  for (const size_t wrong : {size_t{5}, size_t{200}, text.size() - 1}) {
    HandMade damaged = stored("x.txt", text);
    damaged.packed[wrong] = static_cast<char>(damaged.packed[wrong] ^ 1);
    EXPECT_THROW(behind(archive_of(damaged), 128, text.size()), FileFormatError) << wrong;
  }
}

TEST(ZipArchive, MoreMembersThanSixteenBitsCountAreRead) {
  const ScratchFolder folder("zip_many");
  const std::string path = folder.file("a.zip");
  ArchiveWriter writer(path);
  constexpr int kMembers = 66000;
  for (int i = 0; i < kMembers; ++i) writer.add(std::to_string(i), i == 65999 ? "last" : "");
  writer.commit();
  const Archive archive = open(path);
  ASSERT_EQ(archive.members().size(), size_t{kMembers});
  EXPECT_EQ(text_of(archive.read("65999")), "last");
  const std::string bytes = file_text(path);
  const size_t end = bytes.size() - 22, end64 = end - 20 - 56;
  const auto changed = [&](size_t at, char value) {
    std::string copy = bytes;
    copy[at] = value;
    return copy;
  };
  for (const size_t at : {end + 12, end + 16})  // size and place of the directory, here in both records
    expect_refused(changed(at, static_cast<char>(bytes[at] + 1)), at == end + 12 ? "different things" : "");
  std::string few = changed(end + 8, 1);
  few[end + 9] = few[end + 11] = 0;
  few[end + 10] = 1;
  expect_refused(few, "different things");
  expect_refused(changed(end64 + 24, 1), "several parts");
  std::string millions = changed(end64 + 26, 17);
  millions[end64 + 34] = 17;
  expect_refused(millions, "members are more than the 1048576 that are read");
}

TEST(ZipArchive, HostileArchivesAreRefused) {
  for (const char* name : {"../x", "a/../../x", "/etc/x", "c:x", "a\\b", ""})
    expect_refused(archive_of(stored(name, "t")), name[0] && !std::strstr(name, "..") ? "not a path" : "");
  expect_refused(archive_of(stored("a", "t"), 2), "it is there twice");
  HandMade wrong = stored("a", "text");
  wrong.crc ^= 1;
  expect_refused(archive_of(wrong), "checksum");
  HandMade encrypted = stored("a", "text");
  encrypted.flags = 1;
  expect_refused(archive_of(encrypted), "encrypted");
  HandMade method = stored("a", "text");
  method.method = 12;
  expect_refused(archive_of(method), "method 12");
  HandMade bomb = deflated(std::string(1000, 'z'));
  bomb.size = 4000000000u;
  expect_refused(archive_of(bomb), "claims to unpack");
  HandMade small_lie = deflated(std::string(1000, 'z'));
  small_lie.size = 10 << 20;
  expect_refused(archive_of(small_lie), "packed data are damaged");
  expect_refused(sample() + "behind", "directory");
  expect_refused("before" + sample(), "does not stand");
  expect_refused("", "too short");
}

TEST(ZipArchive, DamagedCopiesAreRefusedOrRead) {
  const std::string whole = sample();
  DrawStream random(7);
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string copy = whole;
    const uint64_t changes = 1 + random.below(4);
    for (uint64_t k = 0; k < changes; ++k)
      copy[random.below(copy.size())] = static_cast<char>(random.below(256));
    if (random.below(4) == 0) copy.resize(random.below(copy.size()));
    try {
      const Archive archive = in_memory(copy);
      for (const Member& member : archive.members()) archive.read(member.name);
    } catch (const FileFormatError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 15000);
}

}  // namespace
}  // namespace nyala::zip
