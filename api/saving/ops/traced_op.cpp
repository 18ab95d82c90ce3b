#include <nyala/api/saving/ops/traced_op.h>

#include <cmath>

#include <nyala/backend/core/error.h>

namespace nyala {

void TracedOp::fail(const std::string& reason) const {
  throw InvalidArgumentError("the op " + detail::in_quotes(name) + " between layers cannot be saved: " +
                             reason + "; put it into a layer of your own");
}

Json axes_to_json(uint32_t axes) {
  Json list = Json::array();
  for (int axis = 0; axis < Shape::kMaxRank; ++axis)
    if (axes >> axis & 1u) list.push_back(axis);
  return list;
}

Json number_to_json(const TracedOp& op, double value) {
  if (is_floating(op.inputs[0].dtype()) || value != std::floor(value) || std::abs(value) >= 0x1p63)
    return value;
  return static_cast<int64_t>(value);
}

Json new_shape_to_json(const TracedOp& op, const Shape& shape) {
  Json list = Json::array();
  int unknown = 0;
  for (const int64_t size : shape) {
    list.push_back(size);
    unknown += size == None;
  }
  if (unknown > 1) op.fail("its shape " + shape.to_string() + " has several unknown sizes");
  return list;
}

}  // namespace nyala
