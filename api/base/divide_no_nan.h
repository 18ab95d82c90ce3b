#pragma once

#include <nyala/backend/core/tensor.h>

namespace nyala {

/// x / divisor, 0 where the divisor is 0; also backward.
Tensor divide_no_nan(const Tensor& x, const Tensor& divisor);

}  // namespace nyala
