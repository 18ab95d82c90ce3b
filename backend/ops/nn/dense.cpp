#include <algorithm>

#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/base/grad_context.h>
#include <nyala/backend/ops/nn/dense.h>
#include <nyala/backend/ops/nn/matmul.h>
#include <nyala/backend/ops/shape/shape.h>

namespace nyala::ops {

using namespace nyala::detail;
using namespace nyala::ops::detail;

namespace {

void check_dtypes(InferContext& c) {
  for (size_t i = 0; i < c.num_inputs(); ++i)
    if (!is_weight_dtype(c.dtype(i), c.dtype(0)))
      c.fail("expected inputs of one floating dtype, received " + std::string(name_of(c.dtype(0))) + " and " +
             std::string(name_of(c.dtype(i))));
}

void infer_dense(InferContext& c) {
  check_dtypes(c);
  const Shape& x = c.shape(0);
  const Shape& kernel = c.shape(1);
  if (x.rank() < 1 || kernel.rank() != 2)
    c.fail("expected x (..., in) and a kernel (in, units), received " + x.to_string() + " and " +
           kernel.to_string());
  if (x.back() != None && x.back() != kernel[0])
    c.fail("expected " + std::to_string(kernel[0]) + " values on the last axis, for kernel " +
           kernel.to_string() + "; received x " + x.to_string());
  if (c.num_inputs() > 2 && c.shape(2) != Shape{kernel[1]})
    c.fail("expected a bias (" + std::to_string(kernel[1]) + ",), received " + c.shape(2).to_string());
  c.output(0, x.with(-1, kernel[1]), c.dtype(0));
}

void dense_reference(const KernelCall& call) {
  const Activation activation = call.descriptor<ActivationDescriptor>().activation;
  const int64_t in = call.input(1).shape()[0], units = call.input(1).shape()[1];
  const int64_t rows = units == 0 ? 0 : call.output(0).num_elements() / units;
  dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    const T* kernel = call.in<T>(1);
    for (int64_t row = 0; row < rows; ++row) {
      const T* x = call.in<T>(0) + row * in;
      T* y = call.out<T>(0) + row * units;
      for (int64_t j = 0; j < units; ++j) y[j] = call.inputs.size() > 2 ? call.in<T>(2)[j] : T(0);
      for (int64_t i = 0; i < in; ++i)
        for (int64_t j = 0; j < units; ++j) y[j] += x[i] * kernel[i * units + j];
      for (int64_t j = 0; j < units; ++j) y[j] = activate(y[j], activation);
    }
  });
}

// One product of matrices each, however many axes x has.
void record_dense_gradient(GradContext& c, const Tensor& dz) {
  const Tensor &x = c.input(0), &kernel = c.input(1);
  const int64_t in = kernel.shape()[0], units = kernel.shape()[1];
  const Tensor rows = viewed(dz, {units == 0 ? 0 : dz.num_elements() / units, units});
  if (c.needs(1)) {
    const DType wide = dtype_of_sums(rows.dtype());
    c.set(1, matmul(cast(viewed(x, {rows.shape()[0], in}), wide), cast(rows, wide), {true, false}));
  }
  if (c.needs(0)) c.set(0, viewed(matmul(rows, kernel, {false, true}), x.shape()));
}

bool dense_reads_output(const void* descriptor) {
  return static_cast<const ActivationDescriptor*>(descriptor)->activation != Activation::linear;
}

void dense_gradient(GradContext& c) {
  const ActivationDescriptor& d = c.descriptor<ActivationDescriptor>();
  const Tensor dz = behind_activation_and_bias(c, d.activation, 2);
  if (c.records()) return record_dense_gradient(c, dz);
  if (c.needs(1)) c.emit(1, kDenseBackwardKernel, NoDescriptor{}, {&c.input(0), &dz});
  if (c.needs(0)) c.emit(0, kDenseBackwardInput, NoDescriptor{}, {&dz, &c.input(1)});
}

void infer_backward_input(InferContext& c) {
  check_dtypes(c);
  c.output(0, c.shape(0).with(-1, c.shape(1)[0]), c.dtype(0));
}

void backward_input_reference(const KernelCall& call) {
  const int64_t in = call.input(1).shape()[0], units = call.input(1).shape()[1];
  const int64_t rows = in == 0 ? 0 : call.output(0).num_elements() / in;
  dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t i = 0; i < in; ++i) {
        const T* dz = call.in<T>(0) + row * units;
        const T* kernel = call.in<T>(1) + i * units;
        T sum = 0;
        for (int64_t j = 0; j < units; ++j) sum += dz[j] * kernel[j];
        call.out<T>(0)[row * in + i] = sum;
      }
  });
}

void infer_backward_kernel(InferContext& c) {
  check_dtypes(c);
  c.output(0, {c.shape(0).back(), c.shape(1).back()}, dtype_of_sums(c.dtype(0)));
}

void backward_kernel_reference(const KernelCall& call) {
  const int64_t in = call.output(0).shape()[0], units = call.output(0).shape()[1];
  const int64_t rows = in == 0 ? 0 : call.input(0).num_elements() / in;
  dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    T* gradient = call.out<T>(0);
    std::fill_n(gradient, in * units, T(0));
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t i = 0; i < in; ++i) {
        const T x = call.in<T>(0)[row * in + i];
        const T* dz = call.in<T>(1) + row * units;
        for (int64_t j = 0; j < units; ++j) gradient[i * units + j] += x * dz[j];
      }
  });
}

}  // namespace

const OpDef kDense = {.name = "dense",
                      .infer = infer_dense,
                      .gradient = dense_gradient,
                      .keep_inputs = keep(0, 1),
                      .keep_outputs = keep(0),
                      .is_product = true,
                      .reads_outputs = dense_reads_output,
                      .reference = dense_reference,
                      .twice_differentiable = true};
const OpDef kDenseBackwardInput = {
    .name = "dense_backward_input", .infer = infer_backward_input, .reference = backward_input_reference};
const OpDef kDenseBackwardKernel = {
    .name = "dense_backward_kernel", .infer = infer_backward_kernel, .reference = backward_kernel_reference};

Tensor dense(const Tensor& x, const Tensor& kernel, const Tensor& bias, Activation activation) {
  const ActivationDescriptor descriptor{activation};
  return bias.defined() ? dispatch(kDense, descriptor, {&x, &kernel, &bias})
                        : dispatch(kDense, descriptor, {&x, &kernel});
}

}  // namespace nyala::ops
