#pragma once

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// Eigenvalues, ascending, of shape (..., m), and eigenvectors in the columns of (..., m, m), of the
/// symmetric matrices in the last two axes, of which the lower triangle is read; so the gradient has zeros
/// above the diagonal. Of equal eigenvalues it takes the eigenvectors as fixed. Integers become float32.
/// Throws ShapeError for matrices that are not square, NumericError from the kernel for NaN and infinities.
struct Eigh {
  Tensor eigenvalues, eigenvectors;
};
Eigh eigh(const Tensor& x);

/// Keras' eig, whose results are complex numbers for real matrices, too. There is no dtype for them here:
/// throws DTypeError that names what there is instead.
[[noreturn]] void eig(const Tensor& x);

extern const OpDef kEigh;

}  // namespace nyala::ops
