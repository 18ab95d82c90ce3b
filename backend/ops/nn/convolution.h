#pragma once

#include <nyala/backend/ops/base/window.h>
#include <nyala/backend/ops/elementwise/fused_activation.h>

namespace nyala::ops {

// What the convolutions of images (two axes) and volumes (three) share.

/// An array of N times `value`.
template <class T, size_t N>
constexpr std::array<T, N> filled(T value) {
  std::array<T, N> out{};
  for (T& item : out) item = value;
  return out;
}

template <size_t N>
struct ConvolutionOptions {
  std::array<int, N> strides = filled<int, N>(1);
  Padding padding{};  // "valid", "same" or sizes
  std::array<int, N> dilation = filled<int, N>(1);
  int groups = 1;
  Activation activation = Activation::linear;
};

template <size_t N>
struct ConvolutionDescriptor {
  std::array<int32_t, N> strides = filled<int32_t, N>(1);
  std::array<int32_t, N> dilation = filled<int32_t, N>(1);
  int32_t groups = 1;
  Padding padding{};
  Activation activation = Activation::linear;
};

/// For the gradients: also the sizes that their inputs do not tell.
template <size_t N>
struct ConvolutionBackwardDescriptor {
  ConvolutionDescriptor<N> conv;
  std::array<int64_t, N> sizes{};  // backward_input: of x; backward_kernel: of the kernel
};

/// All sizes of one convolution, worked out from descriptor and shapes. Pads may be negative at the end where
/// the last rows are not reached.
struct ConvolutionGeometry {
  int64_t batch, height, width, channels;  // x
  int64_t kernel_height, kernel_width, in_per_group;
  int64_t out_height, out_width, out_channels;  // y
  int64_t groups, out_per_group;
  std::array<int64_t, 2> strides, dilation;  // rows, columns
  int64_t pad_top, pad_left;
  // The first axis of a volume; an image is one slice.
  int64_t depth = 1, kernel_depth = 1, out_depth = 1;
  int64_t depth_stride = 1, depth_dilation = 1, pad_front = 0;
};

namespace detail {

/// `x`, `kernel`: known shapes that fit together.
template <size_t N>
ConvolutionGeometry convolution_geometry(const ConvolutionDescriptor<N>& descriptor, const Shape& x,
                                         const Shape& kernel);
/// The geometry of a call of conv2d, conv3d or one of their gradients.
ConvolutionGeometry convolution_geometry(const KernelCall& call);

/// The activation that a call of conv2d or conv3d applies.
Activation convolution_activation(const KernelCall& call);

/// The loops of all of them.
void convolution_reference(const KernelCall& call);
void convolution_backward_input_reference(const KernelCall& call);
void convolution_backward_kernel_reference(const KernelCall& call);

}  // namespace detail

extern template ConvolutionGeometry detail::convolution_geometry(const ConvolutionDescriptor<2>&,
                                                                 const Shape&, const Shape&);
extern template ConvolutionGeometry detail::convolution_geometry(const ConvolutionDescriptor<3>&,
                                                                 const Shape&, const Shape&);

}  // namespace nyala::ops
