#pragma once

#include <nyala/backend/core/tensor.h>

namespace nyala::detail {

/// Floats of 16 bits as float32, for what Keras computes in that whatever the policy: statistics, losses,
/// metrics. Others, and an undefined tensor, as they are.
Tensor at_least_float32(const Tensor& x);

}  // namespace nyala::detail
