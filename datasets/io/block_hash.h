#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace nyala::datasets {

/// What MD5 and SHA-256 share: bytes that arrive in pieces are hashed in blocks of 64, the last of which end
/// with a one bit, zeros and the number of bits. `Hash` derives and has compress(block).
template <class Hash>
class BlockHash {
 public:
  void update(std::span<const uint8_t> bytes) {
    while (!bytes.empty()) {
      const size_t used = static_cast<size_t>(total_ % 64);
      const size_t count = std::min(bytes.size(), 64 - used);
      std::memcpy(pending_.data() + used, bytes.data(), count);
      total_ += count;
      bytes = bytes.subspan(count);
      if (used + count == 64) static_cast<Hash*>(this)->compress(pending_.data());
    }
  }

 protected:
  /// Ends the last block. `order` is that of the bytes of the number of bits.
  void pad(std::endian order) {
    const uint64_t bits = total_ * 8;
    const uint8_t one = 0x80, zero = 0;
    update({&one, 1});
    while (total_ % 64 != 56) update({&zero, 1});
    std::array<uint8_t, 8> length;
    for (size_t i = 0; i < 8; ++i) length[i] = static_cast<uint8_t>(bits >> (8 * i));
    if (order == std::endian::big) std::reverse(length.begin(), length.end());
    update(length);
  }

 private:
  std::array<uint8_t, 64> pending_{};
  uint64_t total_ = 0;
};

}  // namespace nyala::datasets
