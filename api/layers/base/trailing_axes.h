#pragma once

#include <vector>

#include <nyala/backend/core/tensor.h>

namespace nyala {

/// Some axes of an input brought to its end, for ops that work on the last axes, and back again.
class TrailingAxes {
 public:
  /// Throws ShapeError for an axis that `shape` lacks or that is named twice.
  TrailingAxes(const std::vector<int>& axes, const Shape& shape);

  int count() const { return static_cast<int>(axes_.size()); }
  /// The sizes of the axes, in ascending order of the axes. Throws ShapeError for an unknown one.
  Shape sizes(const Shape& shape) const;
  Tensor to_end(const Tensor& x) const;
  Tensor back(const Tensor& x) const;

 private:
  std::vector<int> axes_;   // ascending
  std::vector<int> order_;  // of a transpose; empty: they are the last already
};

}  // namespace nyala
