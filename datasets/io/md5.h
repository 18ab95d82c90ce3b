#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <nyala/datasets/io/block_hash.h>

namespace nyala::datasets {

/// MD5 (RFC 1321) of bytes that arrive in pieces: against transmission errors, not against forgers. Some
/// publishers give no other.
class Md5 : public BlockHash<Md5> {
 public:
  /// The digest as 32 lower-case hexadecimal digits. The object must not be used afterwards.
  std::string finish();

 private:
  friend class BlockHash<Md5>;
  void compress(const uint8_t* block);

  std::array<uint32_t, 4> state_ = {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u};
};

}  // namespace nyala::datasets
