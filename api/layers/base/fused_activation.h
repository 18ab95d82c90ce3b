#pragma once

#include <nyala/api/activations/activation_argument.h>
#include <nyala/api/regularizers/regularizer.h>
#include <nyala/backend/ops/elementwise/fused_activation.h>
#include <nyala/backend/parameters/call.h>

namespace nyala {

/// Splits a layer's activation into the part that the op before it computes itself and the rest.
class FusedActivation {
 public:
  explicit FusedActivation(ActivationArgument activation);
  ops::Activation fused() const { return fused_; }
  /// Applies what was not fused.
  Tensor rest(const Tensor& x) const { return fused_here_ ? x : activation_(x); }

 private:
  ActivationArgument activation_;
  ops::Activation fused_ = ops::Activation::linear;
  bool fused_here_ = false;
};

namespace detail {

/// Adds regularizer(output) / batch size to the loss, as Keras' activity regularisers do.
void add_activity_loss(Call& c, const Regularizer& regularizer, const Tensor& output);

/// Whether a layer with such a kernel does no more than multiply and add.
template <class Config>
bool is_affine(const Config& config) {
  return config.activation.is_linear() && !config.activity_regularizer;
}

/// Its weights as Fusable::weights().
template <class Config>
Variables affine_weights(const Config& config, const Variable& kernel, const Variable& bias) {
  if (!is_affine(config)) return {};
  return bias ? Variables{kernel, bias} : Variables{kernel};
}

}  // namespace detail

}  // namespace nyala
