#include <string>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/reduction_axes.h>

namespace nyala {

uint32_t axes_mask(const Shape& shape, const Axes& axes, std::string_view where) {
  if (axes.empty()) return (1u << shape.rank()) - 1u;
  uint32_t mask = 0;
  for (const int axis : axes) {
    if (axis < -shape.rank() || axis >= shape.rank())
      throw ShapeError(std::string(where) + ": axis " + std::to_string(axis) + " does not exist in shape " +
                       shape.to_string());
    const uint32_t bit = 1u << shape.normalize_axis(axis);
    if (mask & bit)
      throw ShapeError(std::string(where) + ": axis " + std::to_string(axis) + " is named twice for shape " +
                       shape.to_string());
    mask |= bit;
  }
  return mask;
}

Shape reduced_shape(const Shape& shape, uint32_t mask, bool keepdims) {
  Shape out;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (!(mask >> axis & 1u))
      out.append(shape[axis]);
    else if (keepdims)
      out.append(1);
  }
  return out;
}

void ReductionAxes::Axes::append(int64_t axis_size, int64_t axis_stride, bool merge) {
  count *= axis_size;
  if (merge && rank > 0) {
    size[static_cast<size_t>(rank - 1)] *= axis_size;
    stride[static_cast<size_t>(rank - 1)] = axis_stride;
    return;
  }
  size[static_cast<size_t>(rank)] = axis_size;
  stride[static_cast<size_t>(rank)] = axis_stride;
  ++rank;
}

ReductionAxes::ReductionAxes(const Shape& shape, uint32_t mask) {
  std::array<int64_t, Shape::kMaxRank> strides{};
  int64_t stride = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[static_cast<size_t>(axis)] = stride;
    stride *= shape[axis];
  }
  int last = -1;  // 0: the axis before was kept, 1: reduced
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == 1) continue;
    const int kind = static_cast<int>(mask >> axis & 1u);
    (kind ? reduced_ : kept_).append(shape[axis], strides[static_cast<size_t>(axis)], kind == last);
    last = kind;
  }
}

}  // namespace nyala
