#pragma once

#include <nyala/backend/core/tensor.h>
#include <nyala/backend/ops/base/uniform_rows.h>

/// Arithmetic of layers that change images (rows, height, width, channels) by numbers (rows, n) of each.
namespace nyala::detail {

/// Column `i` of numbers (rows, n) as (rows, 1).
Tensor column(const Tensor& numbers, int64_t i);
/// Numbers (rows, 1) against the pixels of images, in their dtype: (rows, 1, 1, 1).
Tensor per_image(const Tensor& numbers, const Tensor& images);
/// Whether each image is changed: where column `i + 1` is below the chance in column `i`; (rows, 1, 1, 1).
Tensor chosen(const Tensor& numbers, int64_t i);

/// Values of one range taken to another as Keras takes them: (x - low) / (high - low), times the other width,
/// plus the other low.
Tensor in_range(const Tensor& x, const ops::UniformRange& from, const ops::UniformRange& to);

/// What Keras' layers compute with.
inline constexpr ops::UniformRange kBytes = {0.0, 255.0};

}  // namespace nyala::detail
