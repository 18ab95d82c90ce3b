// The gradient of a convolution by its input, run forwards, into a result of (n - 1) stride + span elements,
// of which "same" cuts some off. Lengths and cuts are those of Keras 3.15 (see the header).
#include <cstdlib>
#include <limits>

#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/nn/conv2d.h>
#include <nyala/backend/ops/nn/conv3d.h>
#include <nyala/backend/ops/nn/conv_transpose.h>
#include <nyala/backend/ops/nn/convolution_op.h>

namespace nyala::ops {

namespace {

/// What is cut off an axis of (n - 1) stride + span elements, at its front and in all; negative: added. It
/// does not depend on n.
struct Cut {
  int64_t front, total;
};

template <size_t N>
Cut cut_of(const ConvTransposeOptions<N>& o, int64_t span, size_t axis) {
  const int64_t stride = o.strides[axis];
  if (Padding(o.padding).mode() == Padding::Mode::valid) {
    const int64_t added = o.output_padding ? (*o.output_padding)[axis] : std::max<int64_t>(stride - span, 0);
    return {0, -added};
  }
  const int64_t total = o.output_padding ? span - span % 2 - (*o.output_padding)[axis] : span - stride;
  return {std::max<int64_t>(total, 0) / 2, total};
}

template <size_t N>
void check(std::string_view name, const Shape& x, const Shape& kernel, const ConvTransposeOptions<N>& o) {
  const std::string op(name);
  detail::check_positive(op, o.strides, "strides");
  detail::check_positive(op, o.dilation, "a dilation");
  if (o.output_padding)
    for (size_t i = 0; i < N; ++i)
      if ((*o.output_padding)[i] < 0 || (*o.output_padding)[i] >= o.strides[i])
        throw InvalidArgumentError(op + ": expected output_padding from 0 to below the strides " +
                                   detail::size_text(o.strides) + ", received " +
                                   detail::size_text(*o.output_padding));
  if (x.rank() != N + 2 || kernel.rank() != N + 2)
    throw ShapeError(op + ": expected x and a kernel (..., out, in) of rank " + std::to_string(N + 2) +
                     ", received " + x.to_string() + " and " + kernel.to_string());
  if (x.back() != kernel.back())
    throw ShapeError(op + ": expected " + std::to_string(kernel.back()) + " channels for kernel " +
                     kernel.to_string() + "; received x " + x.to_string());
}

template <size_t N>
ConvolutionBackwardDescriptor<N> describe(std::string_view name, const Shape& x, const Shape& kernel,
                                          const ConvTransposeOptions<N>& o) {
  ConvolutionBackwardDescriptor<N> d;
  d.conv.strides = o.strides, d.conv.dilation = o.dilation;
  std::array<int32_t, 6> pads{};
  for (size_t i = 0; i < N; ++i) {
    const int axis = static_cast<int>(i);
    const int64_t span = WindowAxis{kernel[axis], o.strides[i], o.dilation[i]}.span();
    const Cut cut = cut_of(o, span, i);
    const int64_t n = x[axis + 1];
    if (std::abs(cut.total) > std::numeric_limits<int32_t>::max() ||
        n > (std::numeric_limits<int64_t>::max() - span - o.strides[i]) / o.strides[i])
      throw ShapeError(std::string(name) + ": the output would be too large; received x " + x.to_string() +
                       ", kernel " + kernel.to_string() + ", strides " + detail::size_text(o.strides) +
                       ", dilation " + detail::size_text(o.dilation));
    pads[2 * i] = static_cast<int32_t>(cut.front);
    pads[2 * i + 1] = static_cast<int32_t>(cut.total - cut.front);
    d.sizes[i] = n == None ? None : (n - 1) * o.strides[i] + span - cut.total;
    if (n != None && d.sizes[i] <= 0)
      throw ShapeError(std::string(name) + ": the output would be empty; received x " + x.to_string() +
                       ", kernel " + kernel.to_string() + ", strides " + detail::size_text(o.strides));
  }
  d.conv.padding = Padding(pads);
  return d;
}

template <size_t N>
Tensor transpose_with(const OpDef& op, TensorPointers inputs, const ConvTransposeOptions<N>& options) {
  const Tensor &x = *inputs[0], &kernel = *inputs[1], &bias = *inputs[2];
  constexpr std::string_view name = N == 3 ? "conv3d_transpose" : "conv2d_transpose";
  check(name, x.shape(), kernel.shape(), options);
  const Tensor y = dispatch(op, describe(name, x.shape(), kernel.shape(), options), {&x, &kernel});
  return bias.defined() ? y + bias : y;
}

}  // namespace

Tensor conv2d_transpose(const Tensor& x, const Tensor& kernel, const Tensor& bias,
                        const ConvTransposeOptions<2>& options) {
  return transpose_with(kConv2DBackwardInput, std::array{&x, &kernel, &bias}, options);
}

Tensor conv3d_transpose(const Tensor& x, const Tensor& kernel, const Tensor& bias,
                        const ConvTransposeOptions<3>& options) {
  return transpose_with(kConv3DBackwardInput, std::array{&x, &kernel, &bias}, options);
}

}  // namespace nyala::ops
