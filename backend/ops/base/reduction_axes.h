#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include <nyala/backend/core/axes.h>
#include <nyala/backend/core/shape.h>

namespace nyala {

/// Bit i set for each axis in `axes` (empty: all axes of `shape`). Throws ShapeError naming `where` for an
/// axis that does not exist or is named twice.
uint32_t axes_mask(const Shape& shape, const nyala::Axes& axes, std::string_view where);

/// `shape` with the axes of `mask` set to 1 (keepdims) or left out.
Shape reduced_shape(const Shape& shape, uint32_t mask, bool keepdims);

/// The axes of a known shape split into those that stay and those that are reduced. Neighbours of one kind
/// are merged and axes of size 1 dropped, so most reductions have one axis of each.
class ReductionAxes {
 public:
  ReductionAxes(const Shape& shape, uint32_t mask);

  /// Elements of the result, and elements that go into each.
  int64_t outputs() const { return kept_.count; }
  int64_t group() const { return reduced_.count; }

  /// True for [outer, reduced, inner] with one reduced block; any of the three may be 1.
  bool is_block() const { return reduced_.rank <= 1 && kept_.rank <= 2; }
  int64_t outer() const { return kept_.rank == 0 ? 1 : kept_.count / inner(); }
  int64_t inner() const { return reduced_.rank == 0 ? 1 : reduced_.stride[0]; }

  /// Calls body(output index, offset of the group's first element) for each result in row-major order.
  template <class Body>
  void for_each_output(Body&& body) const {
    walk(kept_, 0, body);
  }
  /// Calls body(index in the group, offset) for each element of the group that begins at `base`.
  template <class Body>
  void for_each_member(int64_t base, Body&& body) const {
    walk(reduced_, base, body);
  }

 private:
  struct Axes {
    int rank = 0;
    int64_t count = 1;
    std::array<int64_t, Shape::kMaxRank> size{}, stride{};
    void append(int64_t axis_size, int64_t axis_stride, bool merge);
  };

  template <class Body>
  static void walk(const Axes& axes, int64_t offset, Body&& body) {
    std::array<int64_t, Shape::kMaxRank> index{};
    for (int64_t i = 0; i < axes.count; ++i) {
      body(i, offset);
      for (int axis = axes.rank - 1; axis >= 0; --axis) {
        const size_t k = static_cast<size_t>(axis);
        offset += axes.stride[k];
        if (++index[k] < axes.size[k]) break;
        offset -= axes.stride[k] * index[k];
        index[k] = 0;
      }
    }
  }

  Axes kept_, reduced_;
};

}  // namespace nyala
