#pragma once

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// The activations that dense, conv2d and batch normalization apply in the same pass: those whose gradient
/// follows from their output alone.
enum class Activation : uint8_t { linear, relu, sigmoid, tanh };

struct ActivationDescriptor {
  Activation activation = Activation::linear;
};

/// gradient * f'(y) where y = f(z) is the activation's output; shapes and dtypes are equal. For linear it is
/// `gradient` itself. Not differentiable again.
Tensor activation_backward(const Tensor& gradient, const Tensor& y, Activation activation);

/// Inputs (gradient, y).
extern const OpDef kActivationBackward;

/// Input (..., n) -> (n): the sum over all axes but the last, which is what a bias receives.
extern const OpDef kBiasGradient;

/// f(z) of one number, for reference loops.
template <class T>
T activate(T z, Activation activation);

extern template float activate(float, Activation);
extern template double activate(double, Activation);

}  // namespace nyala::ops
