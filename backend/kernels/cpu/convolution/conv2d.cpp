#include <nyala/backend/kernels/cpu/convolution/conv2d.h>
#include <nyala/backend/kernels/cpu/onednn/onednn.h>
#include <nyala/backend/ops/base/kernel_table.h>
#include <nyala/backend/ops/nn/conv2d.h>
#include <nyala/backend/ops/nn/conv3d.h>

namespace nyala {

namespace {

bool is_one_of(const OpDef* op, const OpDef& image, const OpDef& volume) {
  return op == &image || op == &volume;
}

onednn::ConvolutionProblem problem_of(const KernelCall& call) {
  onednn::ConvolutionProblem problem;
  problem.geometry = ops::detail::convolution_geometry(call);
  problem.dtypes = onednn::dtypes_of(call);
  if (is_one_of(call.op, ops::kConv2D, ops::kConv3D) || call.op == &ops::kConv2DOnto) {
    problem.adds = call.op == &ops::kConv2DOnto;
    problem.bias = call.inputs.size() > 2;
    if (problem.bias) problem.dtypes.bias = call.input(2).dtype();
    problem.activation = ops::detail::convolution_activation(call);
  } else {
    problem.pass = is_one_of(call.op, ops::kConv2DBackwardInput, ops::kConv3DBackwardInput)
                       ? onednn::ConvolutionPass::backward_input
                       : onednn::ConvolutionPass::backward_kernel;
  }
  return problem;
}

const char* unsupported_reason(const KernelCall& call) {
  return onednn::unsupported_reason(problem_of(call));
}

size_t workspace(const KernelCall& call) { return onednn::workspace(problem_of(call)); }

void run(const KernelCall& call) {
  const Tensor* bias = call.inputs.size() > 2 ? &call.input(2) : nullptr;
  onednn::run(problem_of(call), {{&call.input(0), &call.input(1), bias}, call.output(0), call.workspace});
}

}  // namespace

void register_conv2d(KernelTable& table) {
  const Kernel kernel{"onednn", unsupported_reason, workspace, run, true};
  for (const OpDef* op :
       {&ops::kConv2D, &ops::kConv2DOnto, &ops::kConv2DBackwardInput, &ops::kConv2DBackwardKernel,
        &ops::kConv3D, &ops::kConv3DBackwardInput, &ops::kConv3DBackwardKernel})
    table.add(*op, DeviceKind::cpu, kernel);
}

}  // namespace nyala
