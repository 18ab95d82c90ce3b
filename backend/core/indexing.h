#pragma once

#include <concepts>
#include <cstdint>
#include <limits>

#include <nyala/backend/core/shape.h>

namespace nyala {

/// One entry of x(a, b, ...): an index, a slice(), ellipsis or newaxis. As in NumPy, where None is newaxis.
class Index {
 public:
  enum class Kind : uint8_t { element, range, ellipsis, newaxis };
  /// Stands for a bound that is left out.
  static constexpr int64_t kOpen = std::numeric_limits<int64_t>::min();

  /// Element `index` of an axis, which goes; negative ones count from the end.
  template <std::integral T>
  constexpr Index(T index) : kind_(Kind::element), start_(static_cast<int64_t>(index)) {}
  Index(bool) = delete;
  constexpr Index(NoneType) : kind_(Kind::newaxis) {}
  constexpr explicit Index(Kind kind) : kind_(kind) {}
  constexpr Index(int64_t start, int64_t stop, int64_t step)
      : kind_(Kind::range), start_(start), stop_(stop), step_(step) {}

  constexpr Kind kind() const { return kind_; }
  constexpr int64_t start() const { return start_; }
  constexpr int64_t stop() const { return stop_; }
  constexpr int64_t step() const { return step_; }

 private:
  Kind kind_;
  int64_t start_ = kOpen, stop_ = kOpen, step_ = 1;
};

/// A bound of slice(): a number, or None where it is left out.
class SliceBound {
 public:
  template <std::integral T>
  constexpr SliceBound(T bound) : value_(static_cast<int64_t>(bound)) {}
  constexpr SliceBound(NoneType) : value_(Index::kOpen) {}
  constexpr int64_t value() const { return value_; }

 private:
  int64_t value_;
};

/// Python's start:stop:step: slice(1, 3), slice(None, None, -1), slice(2) for :2, slice() for all. Negative
/// bounds count from the end, bounds outside are cut to the axis.
constexpr Index slice(SliceBound start, SliceBound stop, int64_t step = 1) {
  return Index(start.value(), stop.value(), step);
}
constexpr Index slice(SliceBound stop = kNone) { return Index(Index::kOpen, stop.value(), 1); }
/// As many whole axes as are left.
inline constexpr Index ellipsis{Index::Kind::ellipsis};
/// A new axis of size 1.
inline constexpr Index newaxis{Index::Kind::newaxis};

}  // namespace nyala
