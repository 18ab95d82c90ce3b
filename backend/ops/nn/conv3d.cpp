#include <nyala/backend/ops/nn/conv3d.h>
#include <nyala/backend/ops/nn/convolution_op.h>

namespace nyala::ops {

using namespace nyala::detail;

const OpDef kConv3D = {
    .name = "conv3d",
    .infer = detail::infer_convolution<3>,
    .gradient = detail::convolution_gradient<3, kConv3DBackwardInput, kConv3DBackwardKernel>,
    .keep_inputs = keep(0, 1),
    .keep_outputs = keep(0),
    .is_product = true,
    .reads_outputs = detail::convolution_reads_output<3>,
    .reference = detail::convolution_reference};
const OpDef kConv3DBackwardInput = {
    .name = "conv3d_backward_input",
    .infer = detail::infer_backward_input<3>,
    .gradient = detail::transposed_gradient<3, kConv3D, kConv3DBackwardKernel>,
    .keep_inputs = keep(0, 1),
    .is_product = true,
    .reference = detail::convolution_backward_input_reference};
const OpDef kConv3DBackwardKernel = {.name = "conv3d_backward_kernel",
                                     .infer = detail::infer_backward_kernel<3>,
                                     .reference = detail::convolution_backward_kernel_reference};

Tensor conv3d(const Tensor& x, const Tensor& kernel, const Tensor& bias, const Conv3DOptions& options) {
  return detail::convolve(kConv3D, std::array{&x, &kernel, &bias}, options);
}

}  // namespace nyala::ops
