#pragma once

#include <nyala/backend/core/tensor.h>

namespace nyala::detail {

/// The mean of `count` values whose sum this is; of whole numbers the whole number below it.
Tensor mean_of_sum(const Tensor& sum, int64_t count);

}  // namespace nyala::detail
