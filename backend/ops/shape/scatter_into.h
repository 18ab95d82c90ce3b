#pragma once

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// How a slice and a value meet.
enum class ScatterKind : int32_t { add, subtract, multiply, divide, minimum, maximum, update };

namespace detail {

/// Combines slices of axis 0 of `y`, in place, with `values` (shape (n, ...)) at `indices` (shape (n,);
/// int32, int64 or uint8), in the order of the indices. Integers divide with truncation. Not differentiable.
/// Throws NumericError from the kernel, before it writes, for an index outside [0, rows) and for an integer
/// divided by zero.
void scatter_into(const Tensor& y, ScatterKind kind, const Tensor& indices, const Tensor& values);

}  // namespace detail

struct ScatterIntoDescriptor {
  ScatterKind kind = ScatterKind::update;
  int64_t rows = 0;
};
/// Inputs (indices, values); the output is given.
extern const OpDef kScatterInto;

}  // namespace nyala::ops
