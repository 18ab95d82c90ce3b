#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace nyala {

/// A copy between two strided views of the same sizes, which is what transposing, slicing, padding, repeating
/// and concatenating are. Offsets and strides count elements; a stride may be negative, and 0 on the side
/// read.
struct StridedCopy {
  static constexpr int kMaxAxes = 10;

  int rank = 0;
  std::array<int64_t, kMaxAxes> sizes{}, from{}, to{};
  int64_t from_offset = 0, to_offset = 0;

  /// Appends an axis behind those there are (inner to them).
  void add_axis(int64_t size, int64_t from_stride, int64_t to_stride);
  int64_t num_elements() const;
  /// The same copy with as few axes as possible: those of size 1 dropped, those that run on in both views
  /// merged.
  StridedCopy merged() const;
};

/// Walks the offsets of a copy's first `axes` axes in row-major order.
class StridedWalk {
 public:
  StridedWalk(const StridedCopy& copy, int axes, int64_t start);
  void advance() {
    for (size_t axis = static_cast<size_t>(axes_); axis-- > 0;) {
      from += copy_.from[axis];
      to += copy_.to[axis];
      if (++index_[axis] < copy_.sizes[axis]) return;
      from -= copy_.from[axis] * index_[axis];
      to -= copy_.to[axis] * index_[axis];
      index_[axis] = 0;
    }
  }
  int64_t from, to;

 private:
  const StridedCopy& copy_;
  int axes_;
  std::array<int64_t, StridedCopy::kMaxAxes> index_{};
};

namespace detail {

/// The plain loop. `element_bytes` is 1, 2, 4 or 8.
void copy_strided(const StridedCopy& copy, size_t element_bytes, const void* from, void* to);

}  // namespace detail

}  // namespace nyala
