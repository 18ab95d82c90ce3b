#pragma once

#include <string_view>

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// q r = x for each matrix (..., m, n) in the last two axes, q with orthonormal columns and r upper
/// triangular: (..., m, k) and (..., k, n) with k = min(m, n) in mode "reduced", (..., m, m) and (..., m, n)
/// in mode "complete". Integers become float32. Differentiable, but in mode "complete" with m above n, where
/// the gradient throws InvalidArgumentError, as TensorFlow's. Throws ShapeError for fewer than two axes or an
/// unknown size of the matrices, InvalidArgumentError for another mode.
struct Qr {
  Tensor q, r;
};
Qr qr(const Tensor& x, std::string_view mode = "reduced");

struct QrDescriptor {
  bool complete = false;
};
extern const OpDef kQr;

}  // namespace nyala::ops
