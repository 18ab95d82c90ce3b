#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

namespace nyala {

/// Type of None, so that slice(1, None) is not slice(1, -1).
struct NoneType {
  constexpr operator int64_t() const { return -1; }
};
/// An unknown size in a shape, Keras' `None`: usually the batch. As a number -1.
inline constexpr NoneType kNone;
#ifndef None  // X11 has a macro of this name
inline constexpr NoneType None;
#endif

/// The sizes of a tensor's axes, held inline (no allocation). At most kMaxRank axes.
class Shape {
 public:
  static constexpr int kMaxRank = 8;

  Shape() = default;
  Shape(std::initializer_list<int64_t> sizes)
      : Shape(std::span<const int64_t>(sizes.begin(), sizes.size())) {}
  Shape(const std::vector<int64_t>& sizes) : Shape(std::span<const int64_t>(sizes)) {}
  /// Throws ShapeError for more than kMaxRank axes or a size below None.
  explicit Shape(std::span<const int64_t> sizes);

  int rank() const { return rank_; }
  bool empty() const { return rank_ == 0; }

  /// The size of `axis`; negative axes count from the end. Throws ShapeError outside the rank.
  int64_t operator[](int axis) const { return sizes_[static_cast<size_t>(normalize_axis(axis))]; }
  void set(int axis, int64_t size) { sizes_[static_cast<size_t>(normalize_axis(axis))] = size; }
  int64_t front() const { return (*this)[0]; }
  int64_t back() const { return (*this)[-1]; }

  const int64_t* begin() const { return sizes_.data(); }
  const int64_t* end() const { return sizes_.data() + rank_; }

  /// Number of elements; 1 for a scalar. Throws ShapeError if a size is None.
  int64_t num_elements() const;
  /// True where no size is None.
  bool is_known() const;

  /// Maps a negative axis to its position. Throws ShapeError naming axis and shape.
  int normalize_axis(int axis) const;

  void append(int64_t size);
  /// The axes [first, last).
  Shape slice(int first, int last) const;
  Shape without(int axis) const;
  Shape with(int axis, int64_t size) const;

  /// As Keras prints it: "(None, 28, 28, 1)", "(10,)", "()".
  std::string to_string() const;
  friend std::ostream& operator<<(std::ostream& out, const Shape& shape) { return write(out, shape); }

  friend bool operator==(const Shape& a, const Shape& b) {
    if (a.rank_ != b.rank_) return false;
    for (int i = 0; i < a.rank_; ++i)
      if (a.sizes_[static_cast<size_t>(i)] != b.sizes_[static_cast<size_t>(i)]) return false;
    return true;
  }

 private:
  static std::ostream& write(std::ostream& out, const Shape& shape);

  std::array<int64_t, kMaxRank> sizes_{};
  int8_t rank_ = 0;
};

using Shapes = std::vector<Shape>;

namespace detail {

/// NumPy broadcasting of two shapes; None broadcasts with 1 to None, with n to n.
/// Throws ShapeError naming `where` and both shapes.
Shape broadcast(const Shape& a, const Shape& b, std::string_view where);

/// True if a tensor of `given` may stand where `wanted` is expected (None matches any size).
bool matches(const Shape& given, const Shape& wanted);

}  // namespace detail

}  // namespace nyala
