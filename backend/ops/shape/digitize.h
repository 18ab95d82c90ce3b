#pragma once

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// The number of `boundaries` (one axis, ascending, the dtype of x) that are not above x, element by element:
/// int32, as numpy.digitize. Not differentiable. Throws ShapeError or DTypeError where the two do not fit.
Tensor digitize(const Tensor& x, const Tensor& boundaries);

/// Inputs (x, boundaries).
extern const OpDef kDigitize;

}  // namespace nyala::ops
