#pragma once

#include <array>

#include <nyala/api/layers/base/size.h>
#include <nyala/backend/ops/shape/shape.h>

/// Layers of sequences compute on images of one row; those of images take things as they are.
namespace nyala::detail {

template <size_t N>
std::array<int, N == 1 ? 2 : N> sizes_in_image(const Size<N>& sizes) {
  if constexpr (N == 1)
    return {1, static_cast<int>(sizes[0])};
  else
    return sizes.to_array();
}

template <size_t N>
Tensor as_images(const Tensor& x) {
  return N == 1 ? ops::expand_dims(x, 1) : x;
}

template <size_t N>
Tensor as_image_kernel(const Tensor& kernel) {
  return N == 1 ? ops::expand_dims(kernel, 0) : kernel;
}

template <size_t N>
Tensor from_images(const Tensor& y) {
  return N == 1 ? ops::squeeze(y, {1}) : y;
}

}  // namespace nyala::detail
