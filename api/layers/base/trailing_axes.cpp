#include <nyala/api/layers/base/trailing_axes.h>

#include <algorithm>
#include <string>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/shape/transpose.h>

namespace nyala {

TrailingAxes::TrailingAxes(const std::vector<int>& axes, const Shape& shape) {
  for (const int axis : axes) {
    if (axis < -shape.rank() || axis >= shape.rank())
      throw ShapeError("expected axes of the input " + shape.to_string() + ", received axis " +
                       std::to_string(axis));
    axes_.push_back(shape.normalize_axis(axis));
  }
  std::sort(axes_.begin(), axes_.end());
  if (const auto twice = std::adjacent_find(axes_.begin(), axes_.end()); twice != axes_.end())
    throw ShapeError("expected each axis once, received axis " + std::to_string(*twice) + " twice");
  if (axes_.empty() || axes_.front() == shape.rank() - count()) return;
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (!std::binary_search(axes_.begin(), axes_.end(), axis)) order_.push_back(axis);
  order_.insert(order_.end(), axes_.begin(), axes_.end());
}

Shape TrailingAxes::sizes(const Shape& shape) const {
  Shape sizes;
  for (const int axis : axes_) {
    if (shape[axis] == None)
      throw ShapeError("expected a known size along axis " + std::to_string(axis) + ", received shape " +
                       shape.to_string());
    sizes.append(shape[axis]);
  }
  return sizes;
}

Tensor TrailingAxes::to_end(const Tensor& x) const { return order_.empty() ? x : ops::transpose(x, order_); }

Tensor TrailingAxes::back(const Tensor& x) const {
  if (order_.empty()) return x;
  std::vector<int> inverse(order_.size());
  for (size_t i = 0; i < order_.size(); ++i) inverse[static_cast<size_t>(order_[i])] = static_cast<int>(i);
  return ops::transpose(x, inverse);
}

}  // namespace nyala
