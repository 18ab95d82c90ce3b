#pragma once

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// u diag(s) vh = x for each matrix (..., m, n) in the last two axes: s (..., k) descending with
/// k = min(m, n), orthonormal u and vh, which are (..., m, m) and (..., n, n), or without `full_matrices`
/// (..., m, k) and (..., k, n). Without `compute_uv` only s is there. Integers become float32. Of equal
/// singular values the gradient takes u and vh as fixed. As in TensorFlow there is none through full u and vh
/// where m and n differ by more than 1 (InvalidArgumentError). NaN and infinities make NaN throughout. Throws
/// ShapeError for fewer than two axes or an unknown size of the matrices.
struct Svd {
  Tensor u, s, vh;
};
Svd svd(const Tensor& x, bool full_matrices = true, bool compute_uv = true);

struct SvdDescriptor {
  bool full_matrices = true;
};
extern const OpDef kSvd;

}  // namespace nyala::ops
