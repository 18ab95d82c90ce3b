#include <nyala/backend/ops/nn/conv2d.h>
#include <nyala/backend/ops/nn/convolution_op.h>

namespace nyala::ops {

using namespace nyala::detail;

const OpDef kConv2D = {
    .name = "conv2d",
    .infer = detail::infer_convolution<2>,
    .gradient = detail::convolution_gradient<2, kConv2DBackwardInput, kConv2DBackwardKernel>,
    .keep_inputs = keep(0, 1),
    .keep_outputs = keep(0),
    .is_product = true,
    .reads_outputs = detail::convolution_reads_output<2>,
    .reference = detail::convolution_reference};
const OpDef kConv2DOnto = {
    .name = "conv2d_onto", .infer = detail::infer_convolution<2>, .reference = detail::convolution_reference};
const OpDef kConv2DBackwardInput = {
    .name = "conv2d_backward_input",
    .infer = detail::infer_backward_input<2>,
    .gradient = detail::transposed_gradient<2, kConv2D, kConv2DBackwardKernel>,
    .keep_inputs = keep(0, 1),
    .is_product = true,
    .reference = detail::convolution_backward_input_reference};
const OpDef kConv2DBackwardKernel = {.name = "conv2d_backward_kernel",
                                     .infer = detail::infer_backward_kernel<2>,
                                     .reference = detail::convolution_backward_kernel_reference};

void detail::conv2d_onto(const Tensor& sum, const TensorPointers& x_kernel_bias,
                         const Conv2DOptions& options) {
  std::array<Tensor, 1> y{sum.detached()};
  detail::convolve_into(kConv2DOnto, x_kernel_bias, options, y);
}

Tensor conv2d(const Tensor& x, const Tensor& kernel, const Tensor& bias, const Conv2DOptions& options) {
  return detail::convolve(kConv2D, std::array{&x, &kernel, &bias}, options);
}

}  // namespace nyala::ops
