#pragma once

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// The activations that dense, conv2d and batch normalization apply in the same pass: those whose gradient
/// follows from their output alone. The relu of a NaN is NaN or 0, as the kernel has it; relu6 is min(relu,
/// 6).
enum class Activation : uint8_t { linear, relu, sigmoid, tanh, relu6 };

struct ActivationDescriptor {
  Activation activation = Activation::linear;
};

/// gradient * f'(y) where y = f(z) is the activation's output; shapes and dtypes are equal. For linear it is
/// `gradient` itself. Not differentiable again.
Tensor activation_backward(const Tensor& gradient, const Tensor& y, Activation activation);

/// Inputs (gradient, y).
extern const OpDef kActivationBackward;

/// Inputs (gradient, y) -> the gradient behind the activation, and its bias gradient (as kBiasGradient), in
/// one pass.
extern const OpDef kActivationBackwardWithBias;

/// Input (..., n) -> (n): the sum over all axes but the last, which is what a bias receives; float32 for
/// 16-bit floats.
extern const OpDef kBiasGradient;

namespace detail {

/// For the gradient of an op with output f(z + bias): sets the gradient of input `bias` (where the op has so
/// many inputs and it is wanted) and returns the gradient of z.
Tensor behind_activation_and_bias(GradContext& c, Activation activation, size_t bias);

/// f(z) of one number, for reference loops.
template <class T>
T activate(T z, Activation activation);

}  // namespace detail

extern template float detail::activate(float, Activation);
extern template double detail::activate(double, Activation);

}  // namespace nyala::ops
