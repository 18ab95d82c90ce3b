#pragma once

#include <limits>

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// Keras' activations, elementwise. Integers become float32, but relu and relu6 keep them where their
/// parameters are whole numbers. (softmax and log_softmax stand in softmax.h.)

struct ReluDescriptor {
  double negative_slope = 0.0;
  double max_value = std::numeric_limits<double>::infinity();
  double threshold = 0.0;
};
/// min(x, max_value) above threshold, negative_slope * (x - threshold) else. NaN stays NaN. The slope is 0 at
/// max_value and negative_slope at threshold. Throws InvalidArgumentError for a negative parameter.
Tensor relu(const Tensor& x, const ReluDescriptor& parameters = {});
/// relu with max_value 6.
Tensor relu6(const Tensor& x);
/// x where it is positive, else negative_slope * x.
Tensor leaky_relu(const Tensor& x, double negative_slope = 0.2);

/// 1 / (1 + exp(-x)).
Tensor sigmoid(const Tensor& x);
Tensor tanh(const Tensor& x);
/// x for x > 0, alpha * (exp(x) - 1) else.
Tensor elu(const Tensor& x, double alpha = 1.0);
/// scale * elu(x, alpha) with the two constants of Klambauer et al. 2017.
Tensor selu(const Tensor& x);
/// x * Phi(x); approximate: 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))). No default:
/// keras.activations.gelu has false, keras.ops.gelu has true.
Tensor gelu(const Tensor& x, bool approximate);
/// x * sigmoid(x), also known as swish.
Tensor silu(const Tensor& x);
/// log(exp(x) + 1).
Tensor softplus(const Tensor& x);
/// x / (|x| + 1).
Tensor softsign(const Tensor& x);
/// clip(x / 6 + 0.5, 0, 1).
Tensor hard_sigmoid(const Tensor& x);
/// x * hard_sigmoid(x), also known as hard_swish.
Tensor hard_silu(const Tensor& x);
/// x * tanh(softplus(x)).
Tensor mish(const Tensor& x);
/// exp(x).
Tensor exponential(const Tensor& x);
/// log(sigmoid(x)).
Tensor log_sigmoid(const Tensor& x);
/// x itself.
Tensor linear(const Tensor& x);

struct EluDescriptor {
  double alpha = 1.0;
};
extern const OpDef kRelu, kClippedRelu, kSigmoid, kTanh, kElu, kSelu, kGelu, kGeluTanh, kSilu, kSoftplus,
    kSoftsign, kHardSigmoid, kHardSilu, kMish, kLogSigmoid;
/// (x or y, gradient) -> gradient of x. Relu, sigmoid and tanh take y, the others x.
extern const OpDef kReluGradient, kClippedReluGradient, kSigmoidGradient, kTanhGradient, kEluGradient,
    kSeluGradient, kGeluGradient, kGeluTanhGradient, kSiluGradient, kSoftplusGradient, kSoftsignGradient,
    kHardSigmoidGradient, kHardSiluGradient, kMishGradient, kLogSigmoidGradient;

}  // namespace nyala::ops
