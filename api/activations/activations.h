#pragma once

#include <nyala/api/activations/activation_argument.h>
#include <nyala/backend/ops/elementwise/activation.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/rare_activation.h>
#include <nyala/backend/ops/nn/softmax.h>

/// keras.activations: functions with Keras' names and defaults. As a layer's activation each is known by its
/// name
/// ("relu"); with other parameters give a function: `[](const Tensor& x) { return activations::elu(x, 0.5);
/// }`.
namespace nyala::activations {

using ops::celu;
using ops::elu;
using ops::exponential;
using ops::glu;
using ops::hard_shrink;
using ops::hard_sigmoid;
using ops::hard_silu;
using ops::hard_tanh;
using ops::leaky_relu;
using ops::linear;
using ops::log_sigmoid;
using ops::log_softmax;
using ops::mish;
using ops::relu;
using ops::relu6;
using ops::selu;
using ops::sigmoid;
using ops::silu;
using ops::soft_shrink;
using ops::softmax;
using ops::softplus;
using ops::softsign;
using ops::sparse_plus;
using ops::sparse_sigmoid;
using ops::sparsemax;
using ops::squareplus;
using ops::tanh;
using ops::tanh_shrink;
using ops::threshold;

/// x * Phi(x), or with `approximate` its tanh form.
inline Tensor gelu(const Tensor& x, bool approximate = false) { return ops::gelu(x, approximate); }
/// hard_sigmoid as Keras had it before version 3, clip(0.2 x + 0.5, 0, 1); what files of that time mean by
/// the name. No Keras of today knows this one.
inline Tensor legacy_hard_sigmoid(const Tensor& x) {
  return ops::relu(ops::affine(x, 0.2, 0.5), {.max_value = 1.0});
}
inline Tensor swish(const Tensor& x) { return silu(x); }
inline Tensor hard_swish(const Tensor& x) { return hard_silu(x); }

/// The function that has Keras' name `name`; "swish" and "hard_swish" are silu and hard_silu. Throws
/// InvalidArgumentError with the nearest name.
ActivationArgument get(const std::string& name);

}  // namespace nyala::activations
