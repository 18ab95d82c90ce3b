#pragma once

#include <array>

#include <nyala/backend/core/op.h>
#include <nyala/backend/core/shape.h>

namespace nyala {

/// Element strides of an input against an output it broadcasts to (0 along widened axes).
std::array<int64_t, Shape::kMaxRank> broadcast_strides(const Shape& input, const Shape& output);

/// Plain loop over a broadcast pair: calls body(i, ia, ib) with the row-major output index and the element
/// offsets of both inputs.
template <class Body>
void for_each_broadcast(const Shape& a, const Shape& b, const Shape& output, Body&& body) {
  const auto stride_a = broadcast_strides(a, output), stride_b = broadcast_strides(b, output);
  const int64_t count = output.num_elements();
  std::array<int64_t, Shape::kMaxRank> index{};
  int64_t ia = 0, ib = 0;
  for (int64_t i = 0; i < count; ++i) {
    body(i, ia, ib);
    for (int axis = output.rank() - 1; axis >= 0; --axis) {
      const size_t k = static_cast<size_t>(axis);
      ia += stride_a[k];
      ib += stride_b[k];
      if (++index[k] < output[axis]) break;
      ia -= stride_a[k] * index[k];
      ib -= stride_b[k] * index[k];
      index[k] = 0;
    }
  }
}

/// Shape rule of every broadcasting op whose result has the inputs' common dtype.
void infer_broadcast(InferContext& c);

}  // namespace nyala
