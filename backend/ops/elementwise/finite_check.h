#pragma once

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// The number of elements of a floating tensor that are infinite or NaN: float64, of shape (1). Not
/// differentiable.
Tensor count_not_finite(const Tensor& x);

/// Input (x).
extern const OpDef kCountNotFinite;

}  // namespace nyala::ops
