#pragma once

#include <nyala/backend/core/tensor.h>

namespace nyala {

/// One-hot rows of class numbers, as keras.utils.to_categorical: (...) or (..., 1) of integers -> float32
/// (..., num_classes). `num_classes` 0: the largest label plus one. Throws NumericError for a label outside
/// [0, num_classes) and for labels that are not whole numbers.
Tensor to_categorical(const Tensor& labels, int64_t num_classes = 0);

}  // namespace nyala
