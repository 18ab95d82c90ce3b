#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <nyala/datasets/io/block_hash.h>

namespace nyala::datasets {

/// SHA-256 (FIPS 180-4) of bytes that arrive in pieces.
class Sha256 : public BlockHash<Sha256> {
 public:
  /// The digest as 64 lower-case hexadecimal digits. The object must not be used afterwards.
  std::string finish();

 private:
  friend class BlockHash<Sha256>;
  void compress(const uint8_t* block);

  std::array<uint32_t, 8> state_ = {0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u, 0xa54ff53au,
                                    0x510e527fu, 0x9b05688cu, 0x1f83d9abu, 0x5be0cd19u};
};

}  // namespace nyala::datasets
