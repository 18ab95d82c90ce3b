// A multiplying and rotating mix of 64-bit words into two halves, each step of which can be undone, finished
// by MurmurHash3's finaliser. Fast rather than safe: rows are the user's own.
#include <nyala/api/training/row_key.h>

#include <bit>
#include <cstring>

namespace nyala {

namespace {

/// Each word goes into both halves by steps that can be undone, so that a difference stays one.
class Mixer {
 public:
  explicit Mixer(uint64_t salt) { add(salt); }

  void add(uint64_t word) {
    first_ = std::rotl(first_ ^ word, 27) * 0x9e3779b97f4a7c15ull;
    second_ = std::rotl(second_ + word, 31) * 0xc2b2ae3d27d4eb4full;
  }
  void add_bytes(const char* bytes, size_t count) {
    uint64_t word = 0;
    for (; count >= sizeof word; count -= sizeof word, bytes += sizeof word) {
      std::memcpy(&word, bytes, sizeof word);
      add(word);
    }
    word = 0;
    std::memcpy(&word, bytes, count);
    add(word);
  }
  RowKey key() const { return {finished(first_ + second_), finished(second_ ^ std::rotl(first_, 32))}; }

 private:
  /// The finaliser of MurmurHash3 (Appleby).
  static uint64_t finished(uint64_t x) {
    x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdull;
    x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ull;
    return x ^ (x >> 33);
  }

  uint64_t first_ = 0x243f6a8885a308d3ull, second_ = 0x13198a2e03707344ull;
};

}  // namespace

RowKey row_key(const Tensors& tensors, int64_t row, uint64_t salt) {
  Mixer mixer(salt);
  for (const Tensor& tensor : tensors) {
    mixer.add(uint64_t{tensor.dtype().index()});
    for (int axis = 1; axis < tensor.rank(); ++axis) mixer.add(static_cast<uint64_t>(tensor.shape()[axis]));
    const Tensor of_row = tensor.rows(row, 1);
    mixer.add_bytes(of_row.raw_as<char>(), of_row.bytes());
  }
  return mixer.key();
}

}  // namespace nyala
