#pragma once

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// NumPy's matmul: the last two axes are matrices, the others broadcast; a vector on the left is a row, one
/// on the right a column, and that axis is left out of the result. Dtypes are promoted. Throws ShapeError
/// naming both shapes where they do not fit, or for a scalar.
Tensor matmul(const Tensor& a, const Tensor& b);

/// matmul of at least 2 axes each, of which either may be taken transposed (its last two axes), without a
/// copy.
struct MatmulDescriptor {
  bool transpose_a = false;
  bool transpose_b = false;
};
Tensor matmul(const Tensor& a, const Tensor& b, const MatmulDescriptor& transposed);
extern const OpDef kMatmul;

/// The sizes of a call: (rows, inner) times (inner, columns), for each of the broadcast batch axes.
struct MatmulGeometry {
  int64_t rows = 0, inner = 0, columns = 0;
  Shape batch_a, batch_b, batch;
};

namespace detail {

MatmulGeometry matmul_geometry(const KernelCall& call);

}  // namespace detail

}  // namespace nyala::ops
