#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nyala/files/hdf5/base/cursor.h>

namespace nyala::hdf5 {

/// Groups inside groups.
inline constexpr size_t kMaxDepth = 128;
/// A dataset may declare this much whatever the file stores (256 MiB) ...
inline constexpr uint64_t kMaxFreeBytes = uint64_t{1} << 28;
/// ... up to 4 GiB no more than deflate can expand (1032 times, rounded up) ...
inline constexpr uint64_t kMaxDeflateRatio = 1100;
/// ... and beyond 4 GiB no more than Keras accepts.
inline constexpr uint64_t kBigBytes = uint64_t{1} << 32;
inline constexpr uint64_t kMaxBigRatio = 1000;

/// a * b and a + b; a Fault at `offset` saying that `what` is too large where 64 bits do not hold it.
inline uint64_t checked_multiply(uint64_t a, uint64_t b, std::string_view what) {
  uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product))
    throw Fault{kNoOffset, "the " + std::string(what) + " overflows 64 bits"};
  return product;
}
inline uint64_t checked_add(uint64_t a, uint64_t b, std::string_view what) {
  uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum))
    throw Fault{kNoOffset, "the " + std::string(what) + " overflows 64 bits"};
  return sum;
}

/// Bounds one walk over linked structures. In a sound file they are disjoint, so together no larger than the
/// file: a walk that has seen more bytes than that runs in a circle or over structures laid on each other.
class WalkBudget {
 public:
  explicit WalkBudget(const Image& image) : left_(image.size()) {}

  /// Counts `bytes` of the structure at `offset`. Throws Fault when the budget is used up.
  void spend(uint64_t bytes, uint64_t offset) {
    if (bytes > left_) throw Fault{offset, "structures refer to each other in a circle or overlap"};
    left_ -= bytes;
  }

 private:
  uint64_t left_;
};

}  // namespace nyala::hdf5
