#include <nyala/datasets/io/file_digest.h>
#include <nyala/datasets/io/sha256.h>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/tests/datasets/test_files.h>

namespace nyala::datasets {
namespace {

std::string digest(const std::string& text, size_t piece) {
  Sha256 hash;
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  for (size_t i = 0; i < text.size(); i += piece) hash.update({bytes + i, std::min(piece, text.size() - i)});
  return hash.finish();
}

// The examples of FIPS 180-4 / NIST's test vectors.
TEST(Sha256Test, PublishedVectors) {
  EXPECT_EQ(digest("", 1), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(digest("abc", 1), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 64),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(digest(std::string(1000000, 'a'), 977),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256Test, PiecesDoNotMatter) {
  for (size_t length : {55u, 56u, 63u, 64u, 65u, 119u, 120u, 128u}) {
    const std::string text(length, 'x');
    for (size_t piece : {1u, 7u, 64u}) EXPECT_EQ(digest(text, piece), digest(text, length)) << length;
  }
}

TEST(Sha256Test, MissingFile) { EXPECT_THROW(sha256_of_file("/nonexistent/file"), IoError); }

}  // namespace
}  // namespace nyala::datasets
