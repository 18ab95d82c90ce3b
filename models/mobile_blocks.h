#pragma once

#include <string>

#include <nyala/api/layers/base/layer.h>

namespace nyala::applications {

/// Parts that the two EfficientNets share.

namespace detail {

/// The initializers of their kernels (normal, scaled by the number of outputs) and of their classifiers.
Initializer efficient_kernel_initializer();
Initializer efficient_classifier_initializer();

/// Scales each channel by a number between 0 and 1 that two 1x1 convolutions make of its mean; `reduced`
/// channels lie between them. Layers `prefix` + "se_squeeze" and so on.
Tensor squeeze_and_excite(const Tensor& x, int64_t reduced, const std::string& prefix);

/// x + input, where each row of x is dropped at chance `rate`; layers `prefix` + "drop" (for a rate above 0)
/// and "add".
Tensor add_dropped(const Tensor& x, const Tensor& input, double rate, const std::string& prefix);

}  // namespace detail

}  // namespace nyala::applications
