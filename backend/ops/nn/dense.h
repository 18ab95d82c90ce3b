#pragma once

#include <nyala/backend/ops/elementwise/fused_activation.h>

namespace nyala::ops {

/// activation(x . kernel + bias): x (..., in), kernel (in, units), bias (units) or undefined -> (..., units).
/// Floating dtypes, all inputs of one; but kernel and bias may be float32 beside 16-bit x, which rounds them
/// where products are made in 16 bits, and gets a 16-bit result. Throws ShapeError naming both sizes where
/// they do not fit.
Tensor dense(const Tensor& x, const Tensor& kernel, const Tensor& bias = {},
             Activation activation = Activation::linear);

/// Inputs (x, kernel[, bias]) with an ActivationDescriptor.
extern const OpDef kDense;
/// Inputs (gradient (..., units), kernel (in, units)) -> (..., in).
extern const OpDef kDenseBackwardInput;
/// Inputs (x (..., in), gradient (..., units)) -> (in, units), float32 for 16-bit floats.
extern const OpDef kDenseBackwardKernel;

}  // namespace nyala::ops
