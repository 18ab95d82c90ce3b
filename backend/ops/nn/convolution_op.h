#pragma once

#include <string>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/base/grad_context.h>
#include <nyala/backend/ops/nn/convolution.h>

/// How the units of convolutions over N axes are made.
namespace nyala::ops::detail {

/// The N sizes of `shape` from `first` on.
template <size_t N>
std::array<int64_t, N> sizes_of(const Shape& shape, int first) {
  std::array<int64_t, N> sizes;
  for (size_t i = 0; i < N; ++i) sizes[i] = shape[first + static_cast<int>(i)];
  return sizes;
}

template <class T, size_t N>
std::string size_text(const std::array<T, N>& sizes) {
  std::string text;
  for (const T size : sizes) text += (text.empty() ? "(" : ", ") + std::to_string(size);
  return text + ")";
}

template <size_t N>
void check_channels(InferContext& c, const ConvolutionDescriptor<N>& d) {
  const Shape &x = c.shape(0), &kernel = c.shape(1);
  const int64_t groups = d.groups, filters = kernel.back(), channels = kernel[-2] * groups;
  if (groups < 1 || filters % groups != 0)
    c.fail("expected groups to divide the " + std::to_string(filters) + " filters, received groups " +
           std::to_string(groups));
  if (x.back() != channels)
    c.fail("expected " + std::to_string(channels) + " channels for kernel " + kernel.to_string() +
           (groups > 1 ? " in " + std::to_string(groups) + " groups" : "") + "; received x " + x.to_string());
  if (c.num_inputs() > 2 && c.shape(2) != Shape{filters})
    c.fail("expected a bias (" + std::to_string(filters) + ",), received " + c.shape(2).to_string());
}

template <size_t N>
void check_ranks(InferContext& c) {
  const Shape &x = c.shape(0), &kernel = c.shape(1);
  if (x.rank() != N + 2 || kernel.rank() != N + 2)
    c.fail(std::string(N == 3 ? "expected x (batch, depth, height, width, channels) and a kernel (depth, "
                              : "expected x (batch, height, width, channels) and a kernel (") +
           "rows, columns, channels, filters), received " + x.to_string() + " and " + kernel.to_string());
  for (size_t i = 0; i < c.num_inputs(); ++i)
    if (!is_weight_dtype(c.dtype(i), c.dtype(0)))
      c.fail("expected inputs of one floating dtype, received " + std::string(name_of(c.dtype(0))) + " and " +
             std::string(name_of(c.dtype(i))));
}

template <size_t N>
void infer_convolution(InferContext& c) {
  check_ranks<N>(c);
  const auto& d = c.descriptor<ConvolutionDescriptor<N>>();
  const Shape &x = c.shape(0), &kernel = c.shape(1);
  check_channels(c, d);
  Shape y{x[0]};
  for (int axis = 0; axis < static_cast<int>(N); ++axis) {
    const size_t i = static_cast<size_t>(axis);
    y.append(window_output_size(x[axis + 1], {kernel[axis], d.strides[i], d.dilation[i]}, d.padding, axis));
    if (y.back() == 0)
      c.fail("Computed output size would be zero or negative. Received: inputs " + x.to_string() +
             ", kernel " + kernel.to_string() + ", strides " + size_text(d.strides) + ", dilation " +
             size_text(d.dilation));
  }
  y.append(kernel.back());
  c.output(0, y, c.dtype(0));
}

template <size_t N>
void infer_backward_input(InferContext& c) {
  const auto& d = c.descriptor<ConvolutionBackwardDescriptor<N>>();
  Shape x{c.shape(0)[0]};
  for (const int64_t size : d.sizes) x.append(size);
  x.append(c.shape(1)[-2] * d.conv.groups);
  c.output(0, x, c.dtype(0));
}

template <size_t N>
void infer_backward_kernel(InferContext& c) {
  const auto& d = c.descriptor<ConvolutionBackwardDescriptor<N>>();
  Shape kernel;
  for (const int64_t size : d.sizes) kernel.append(size);
  kernel.append(c.shape(0).back() / d.conv.groups);
  kernel.append(c.shape(1).back());
  c.output(0, kernel, dtype_of_sums(c.dtype(0)));
}

template <size_t N>
bool convolution_reads_output(const void* descriptor) {
  return static_cast<const ConvolutionDescriptor<N>*>(descriptor)->activation != Activation::linear;
}

template <size_t N, const OpDef& kBackwardInput, const OpDef& kBackwardKernel>
void convolution_gradient(GradContext& c) {
  using Backward = ConvolutionBackwardDescriptor<N>;
  const auto& d = c.descriptor<ConvolutionDescriptor<N>>();
  const Tensor dz = behind_activation_and_bias(c, d.activation, 2);
  if (c.needs(1))
    c.emit(1, kBackwardKernel, Backward{d, sizes_of<N>(c.input(1).shape(), 0)}, {&c.input(0), &dz});
  if (c.needs(0))
    c.emit(0, kBackwardInput, Backward{d, sizes_of<N>(c.input(0).shape(), 1)}, {&dz, &c.input(1)});
}

/// Of a backward_input that serves as a transposed convolution: of its x, which lies where the gradient of y
/// lay, and of the kernel.
template <size_t N, const OpDef& kForward, const OpDef& kBackwardKernel>
void transposed_gradient(GradContext& c) {
  ConvolutionDescriptor<N> d = c.descriptor<ConvolutionBackwardDescriptor<N>>().conv;
  d.activation = Activation::linear;
  if (c.needs(1))
    c.emit(1, kBackwardKernel, ConvolutionBackwardDescriptor<N>{d, sizes_of<N>(c.input(1).shape(), 0)},
           {&c.grad(), &c.input(0)});
  if (c.needs(0)) c.emit(0, kForward, d, {&c.grad(), &c.input(1)});
}

/// Throws InvalidArgumentError unless all are at least 1.
template <size_t N>
void check_positive(std::string_view op, const std::array<int, N>& values, const char* what) {
  for (const int value : values)
    if (value < 1)
      throw InvalidArgumentError(std::string(op) + ": expected " + what + " of at least 1, received " +
                                 size_text(values));
}

/// `inputs`: x, kernel and a bias that may be undefined. `y`: see dispatch().
template <size_t N>
void convolve_into(const OpDef& op, TensorPointers inputs, const ConvolutionOptions<N>& options,
                   std::span<Tensor> y) {
  check_positive(op.name, options.strides, "strides");
  check_positive(op.name, options.dilation, "a dilation");
  const ConvolutionDescriptor<N> descriptor{options.strides, options.dilation, options.groups,
                                            options.padding, options.activation};
  dispatch(op, descriptor, inputs.back()->defined() ? inputs : inputs.first(2), y);
}

template <size_t N>
Tensor convolve(const OpDef& op, TensorPointers inputs, const ConvolutionOptions<N>& options) {
  std::array<Tensor, 1> y;
  convolve_into(op, inputs, options, y);
  return y[0];
}

}  // namespace nyala::ops::detail
