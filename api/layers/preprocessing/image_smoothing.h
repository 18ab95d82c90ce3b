#pragma once

#include <nyala/api/layers/base/size.h>
#include <nyala/backend/core/tensor.h>

namespace nyala::detail {

/// Images (rows, height, width, channels) correlated with one kernel (rows, columns) channel by channel, with
/// zeros around them.
Tensor smoothed(const Tensor& images, const Tensor& kernel);

/// The product of two Gaussians whose standard deviations are (1, 2) numbers, along the width and the height.
/// Their sizes are `size`, in this order; the kernel has them in this order, too, as Keras' has, which is no
/// product where they differ.
Tensor gaussian_kernel(const Size2D& size, const Tensor& sigma);

}  // namespace nyala::detail
