#include <nyala/files/hdf5/base/cursor.h>
#include <nyala/files/hdf5/metadata/superblock.h>

namespace nyala::hdf5 {
namespace {

constexpr std::string_view kSignature("\x89HDF\r\n\x1a\n", 8);

struct Found {
  uint8_t version;
  uint64_t skipped;  ///< bytes of the user block in front
};

uint64_t find_signature(const Image& image) {
  for (uint64_t at = 0; at + kSignature.size() <= image.size(); at = at == 0 ? 512 : at * 2) {
    if (Cursor(image, at, kSignature.size(), "signature").text(kSignature.size()) == kSignature) return at;
  }
  throw Fault{0, "not an HDF5 file: the signature '\\x89HDF\\r\\n\\x1a\\n' is missing"};
}

void read_sizes(Cursor& cursor, Image& image) {
  const auto known = [](int size) { return size == 2 || size == 4 || size == 8; };
  const uint64_t at = cursor.position();
  image.offset_size = cursor.u8();
  image.length_size = cursor.u8();
  if (!known(image.offset_size) || !known(image.length_size))
    throw Fault{at, "sizes of offsets and lengths are " + std::to_string(image.offset_size) + " and " +
                        std::to_string(image.length_size) + "; expected 2, 4 or 8"};
}

void check_extent(const Image& image, uint64_t base, uint64_t end_of_file, uint64_t skipped) {
  if (base != skipped)
    throw Fault{0, "the base address is " + std::to_string(base) + ", but the superblock stands at byte " +
                       std::to_string(skipped)};
  const uint64_t present = image.size() + skipped;
  if (end_of_file > present)
    throw Fault{present, "truncated: " + std::to_string(end_of_file) + " bytes were written, " +
                             std::to_string(present) + " are there"};
}

void read_version_0_or_1(Cursor& cursor, Image& image, Found found) {
  cursor.expect_version(0);  // free space storage
  cursor.expect_version(0);  // root group entry
  cursor.skip(1);
  cursor.expect_version(0);  // shared messages
  read_sizes(cursor, image);
  cursor.skip(1 + 2 + 2 + 4);
  if (found.version == 1) cursor.skip(2 + 2);
  const uint64_t base = cursor.address();
  cursor.address();  // free space
  const uint64_t end_of_file = cursor.address();
  const uint64_t driver = cursor.address();
  if (driver != kUndefined) cursor.fail("the file is split or remote (it has a driver block): not supported");
  check_extent(image, base, end_of_file, found.skipped);
  cursor.address();  // name of the root
  image.root_address = cursor.address();
}

void read_version_2_or_3(Cursor& cursor, Image& image, Found found) {
  read_sizes(cursor, image);
  const uint8_t flags = cursor.u8();
  const uint64_t base = cursor.address();
  cursor.address();  // extension: nothing that reading needs
  const uint64_t end_of_file = cursor.address();
  image.root_address = cursor.address();
  cursor.expect_checksum();
  if (found.version == 3 && flags != 0)
    throw Fault{11, "a program still writes this file, or died while writing it"};
  check_extent(image, base, end_of_file, found.skipped);
}

}  // namespace

void read_superblock(Image& image) {
  const uint64_t skipped = find_signature(image);
  image.bytes = image.bytes.part(skipped, image.size() - skipped);
  Cursor cursor = Cursor::to_end(image, 0, "superblock");
  cursor.skip(kSignature.size());
  const uint8_t version = cursor.u8();
  if (version <= 1) {
    read_version_0_or_1(cursor, image, {version, skipped});
  } else if (version <= 3) {
    read_version_2_or_3(cursor, image, {version, skipped});
  } else {
    throw Fault{8, "the superblock has version " + std::to_string(version) + "; versions 0 to 3 are known"};
  }
}

}  // namespace nyala::hdf5
