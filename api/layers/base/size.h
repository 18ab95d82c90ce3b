#pragma once

#include <array>
#include <string>

#include <nyala/api/base/fields.h>

namespace nyala {

/// A size along N axes, in their order (depth, rows, columns): `3` for all of them, or `{3, 5}`.
template <size_t N>
class Size {
 public:
  constexpr Size(int64_t all) { sizes_.fill(all); }
  // Valid for every N: clang 14 compiles them for all sizes that are instantiated.
  constexpr Size(int64_t rows, int64_t columns) requires(N == 2) : sizes_() {
    sizes_[0] = rows;
    sizes_[N - 1] = columns;
  }
  constexpr Size(int64_t depth, int64_t rows, int64_t columns) requires(N == 3) : sizes_() {
    sizes_[0] = depth;
    sizes_[N / 2] = rows;
    sizes_[N - 1] = columns;
  }
  constexpr explicit Size(const std::array<int64_t, N>& sizes) : sizes_(sizes) {}
  /// Keras' None: not given.
  static constexpr Size none() {
    Size size(0);
    size.given_ = false;
    return size;
  }

  bool given() const { return given_; }
  int64_t operator[](size_t axis) const { return sizes_[axis]; }
  int64_t rows() const requires(N == 2) { return sizes_[0]; }
  int64_t columns() const requires(N == 2) { return sizes_[N - 1]; }
  int64_t smallest() const;
  int64_t largest() const;
  /// As ops take it. Sizes must fit in int (check_positive sees to it).
  std::array<int, N> to_array() const;
  /// "(3, 5)", "3" for one axis, or "None".
  std::string to_string() const;

  friend bool operator==(const Size&, const Size&) = default;

 private:
  std::array<int64_t, N> sizes_;
  bool given_ = true;
};

using Size1D = Size<1>;
using Size2D = Size<2>;
using Size3D = Size<3>;

namespace detail {

/// Visits a size as a list: {} not given, {rows, columns} else; one number stands for all. Throws
/// InvalidArgumentError for another length.
template <size_t N>
void visit_size(FieldVisitor& v, const char* name, Size<N>& size);

}  // namespace detail

extern template class Size<1>;
extern template class Size<2>;
extern template class Size<3>;

}  // namespace nyala
