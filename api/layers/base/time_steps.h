#pragma once

#include <nyala/backend/core/tensor.h>

namespace nyala::detail {

/// The steps of x (batch, time, ...), each (batch, ...), in order. Cheap to differentiate.
Tensors time_steps(const Tensor& x);

}  // namespace nyala::detail
