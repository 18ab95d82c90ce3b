#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <nyala/datasets/io/byte_reader.h>

namespace nyala::datasets {

/// One regular file inside a tar archive.
struct TarEntry {
  std::string name = {};
  uint64_t size = 0;
};

/// Walks the regular files of a tar archive (POSIX ustar and GNU tar's variant) front to back, without
/// writing anything to the disk. Folders and extended headers are passed over. Strict: a wrong checksum,
/// a number that is not octal, a link, a device or a missing end mark throws FileFormatError.
class TarReader {
 public:
  /// Reads from `source`, which must outlive this object.
  explicit TarReader(ByteReader& source) : source_(source) {}

  /// Goes to the next regular file; what is unread of the present one is passed over. False at the end.
  bool next(TarEntry& entry);

  /// Fills `out` from the present file. Throws FileFormatError if less than that is left of it.
  void read(std::span<uint8_t> out);

 private:
  void pass_over_rest();

  ByteReader& source_;
  std::string name_ = {};
  uint64_t unread_ = 0;
  uint64_t padding_ = 0;
};

}  // namespace nyala::datasets
