#pragma once

#include <cstdint>

namespace nyala {

/// Hands out the floats of a workspace piece by piece, each from the begin of a line of 64 bytes on if the
/// workspace begins one. Without a workspace it counts only, so that the same code tells how many it needs.
class Scratch {
 public:
  explicit Scratch(float* begin = nullptr) : begin_(begin) {}

  float* take(int64_t floats) {
    float* const taken = begin_ ? begin_ + taken_ : nullptr;
    taken_ += (floats + kLine - 1) / kLine * kLine;
    return taken;
  }
  /// Floats handed out so far.
  int64_t taken() const { return taken_; }

 private:
  static constexpr int64_t kLine = 16;
  float* begin_;
  int64_t taken_ = 0;
};

}  // namespace nyala
