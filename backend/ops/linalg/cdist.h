#pragma once

#include <nyala/backend/core/tensor.h>

namespace nyala::ops {

/// The Euclidean distance of each of the vectors x (..., m, d) to each of y (..., n, d): (..., m, n), where
/// the axes in front broadcast. Dtypes are promoted, integers become float32. Between equal vectors the
/// gradient is NaN, as in Keras. Throws ShapeError for fewer than two axes or another d.
Tensor cdist(const Tensor& x, const Tensor& y);

}  // namespace nyala::ops
