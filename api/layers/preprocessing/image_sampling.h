#pragma once

#include <nyala/backend/core/tensor.h>
#include <nyala/backend/ops/image/affine_transform.h>

namespace nyala::detail {

/// Images (rows, height, width, channels) whose pixel (x, y) is what they have at (x + d, y + d), for shifts
/// d (rows, height, width, 1) of float32, with interpolation and filling as keras.ops.image.map_coordinates
/// has them: there "reflect" is dcb|abcd|dcb. Differentiable in the images.
Tensor sampled_by(const Tensor& images, const Tensor& shifts, const ops::AffineOptions& how);

}  // namespace nyala::detail
