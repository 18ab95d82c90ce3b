// The loops of direct_convolution.cpp on matrices: they read kernels as they lie, so that a product of up to
// 2^16 multiplications starts at once, on the calling thread. oneDNN looks up a primitive, fills its
// arguments and perhaps packs before it multiplies.
#include <nyala/backend/kernels/cpu/base/cpu_level.h>
#include <nyala/backend/kernels/cpu/convolution/direct_convolution_loops.h>
#include <nyala/backend/kernels/cpu/dense/small_dense.h>
#include <nyala/backend/ops/base/kernel_table.h>
#include <nyala/backend/ops/nn/dense.h>

namespace nyala {

namespace {

using Loops = DirectConvolutionLoops;
using LoopsOf = const Loops& (*)();

/// Above this oneDNN's blocking gains more than its set-up costs.
constexpr int64_t kMostProducts = 1 << 16;

struct Sizes {
  int64_t rows, in, units;

  explicit Sizes(const KernelCall& call)
      : rows(call.input(0).num_elements() / call.input(0).shape().back()),
        in(call.op == &ops::kDenseBackwardInput ? call.input(1).shape()[0] : call.input(0).shape().back()),
        units(call.input(1).shape().back()) {}
};

const char* unsupported_reason(const KernelCall& call) {
  const Sizes s(call);
  if (call.output(0).dtype() != DType::float32) return "float32 only";
  if (call.op == &ops::kDense &&
      call.descriptor<ops::ActivationDescriptor>().activation == ops::Activation::relu6)
    return "relu6";
  return s.rows * s.in * s.units > kMostProducts ? "oneDNN is faster for so many products" : nullptr;
}

Loops::Activation activation_of(const KernelCall& call) {
  switch (call.descriptor<ops::ActivationDescriptor>().activation) {
    case ops::Activation::relu:
      return Loops::Activation::relu;
    case ops::Activation::sigmoid:
      return Loops::Activation::sigmoid;
    case ops::Activation::tanh:
      return Loops::Activation::tanh;
    case ops::Activation::relu6:  // refused
    case ops::Activation::linear:
      break;
  }
  return Loops::Activation::linear;
}

/// Rows are the pixels of an image one pixel high, under a kernel of one pixel.
template <LoopsOf kLoops>
void forward(const KernelCall& call) {
  const Sizes s(call);
  const float* bias = call.inputs.size() > 2 ? call.in<float>(2) : nullptr;
  const Loops::Shape shape{.rows = 1,
                           .row = s.rows * s.in,
                           .channels = s.in,
                           .filters = s.units,
                           .kernel_height = 1,
                           .kernel_width = 1,
                           .packed_run = 0,
                           .stride_y = 1,
                           .stride_x = 1,
                           .out_height = 1,
                           .out_width = s.rows};
  kLoops().forward(shape, call.in<float>(0), call.in<float>(1), bias, activation_of(call),
                   call.out<float>(0));
}

/// Inputs are the pixels, rows the height of the kernel: each result is a sum down one column of x.
template <LoopsOf kLoops>
void backward_kernel(const KernelCall& call) {
  const Sizes s(call);
  const Loops::Shape shape{.rows = s.rows,
                           .row = s.in,
                           .channels = 1,
                           .filters = s.units,
                           .kernel_height = s.rows,
                           .kernel_width = 1,
                           .packed_run = 0,
                           .stride_y = 1,
                           .stride_x = 1,
                           .out_height = 1,
                           .out_width = s.in};
  kLoops().forward(shape, call.in<float>(0), call.in<float>(1), nullptr, Loops::Activation::linear,
                   call.out<float>(0));
}

const char* unsupported_backward_input(const KernelCall& call) {
  constexpr int64_t kMostRows = 4;
  return Sizes(call).rows > kMostRows ? "oneDNN is faster for many rows" : unsupported_reason(call);
}

/// Each row of dz by the rows of the kernel as they lie.
template <LoopsOf kLoops>
void backward_input(const KernelCall& call) {
  const Sizes s(call);
  for (int64_t r = 0; r < s.rows; ++r)
    kLoops().multiply_rows({call.in<float>(1), s.in, s.units}, call.in<float>(0) + r * s.units,
                           call.out<float>(0) + r * s.in);
}

template <LoopsOf kLoops>
void add(KernelTable& table, std::string_view name) {
  table.add(ops::kDense, DeviceKind::cpu, {name, unsupported_reason, nullptr, forward<kLoops>});
  table.add(ops::kDenseBackwardKernel, DeviceKind::cpu,
            {name, unsupported_reason, nullptr, backward_kernel<kLoops>});
  table.add(ops::kDenseBackwardInput, DeviceKind::cpu,
            {name, unsupported_backward_input, nullptr, backward_input<kLoops>});
}

}  // namespace

void register_small_dense(KernelTable& table) {
  if (cpu_level() >= CpuLevel::avx512) add<direct_convolution_loops_avx512>(table, "small_avx512");
  if (cpu_level() >= CpuLevel::avx2) add<direct_convolution_loops_avx2>(table, "small_avx2");
}

}  // namespace nyala
