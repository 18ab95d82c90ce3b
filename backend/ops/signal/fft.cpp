#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/base/grad_context.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/shape/pad.h>
#include <nyala/backend/ops/shape/slice.h>
#include <nyala/backend/ops/shape/transpose.h>
#include <nyala/backend/ops/signal/fft.h>
#include <nyala/backend/ops/signal/fourier_plan.h>

namespace nyala::ops {

using namespace nyala::detail;
using nyala::ops::detail::ComplexNumber;
using nyala::ops::detail::FourierPlan;

namespace {

void expect_last_axis(InferContext& c) {
  if (c.shape(0).rank() < 1) c.fail("expected at least one axis, received a scalar");
}

void expect_parts(InferContext& c) {
  if (!matches(c.shape(0), c.shape(1)) || c.dtype(0) != c.dtype(1))
    c.fail("expected real and imaginary parts of one shape and dtype, received " + c.shape(0).to_string() +
           " " + std::string(name_of(c.dtype(0))) + " and " + c.shape(1).to_string() + " " +
           std::string(name_of(c.dtype(1))));
  expect_last_axis(c);
}

/// The length of a transform between real numbers, None where nothing says it.
int64_t length_of(InferContext& c, int64_t by_axis) {
  const int64_t given = c.descriptor<FourierDescriptor>().fft_length, length = given ? given : by_axis;
  if (length != None && length < 1)
    c.fail("expected a length of at least 1, received shape " + c.shape(0).to_string() + "; give fft_length");
  return length;
}

void infer_fft(InferContext& c) {
  expect_parts(c);
  c.output(0, c.shape(0), c.dtype(0));
  c.output(1, c.shape(0), c.dtype(0));
}

void infer_rfft(InferContext& c) {
  expect_last_axis(c);
  const int64_t length = length_of(c, c.shape(0).back());
  const Shape out = c.shape(0).with(-1, length == None ? None : length / 2 + 1);
  c.output(0, out, c.dtype(0));
  c.output(1, out, c.dtype(0));
}

void infer_irfft(InferContext& c) {
  expect_parts(c);
  const int64_t size = c.shape(0).back();
  c.output(0, c.shape(0).with(-1, length_of(c, size == None ? None : 2 * (size - 1))), c.dtype(0));
}

using ComplexRow = std::vector<ComplexNumber>;

/// Calls body(row, x, y) for each row, with a row of zeros to fill and one for its transform.
template <class Body>
void for_each_transform(int64_t rows, int64_t length, Body&& body) {
  if (rows == 0 || length == 0) return;
  const FourierPlan plan(length);
  ComplexRow x(static_cast<size_t>(length)), y(x.size());
  for (int64_t row = 0; row < rows; ++row)
    body(row, x, [&]() -> const ComplexRow& {
      plan.transform(x.data(), y.data());
      return y;
    });
}

int64_t rows_of(const Tensor& x) { return x.shape().slice(0, x.rank() - 1).num_elements(); }

void fft_reference(const KernelCall& call) {
  const int64_t size = call.input(0).shape().back();
  dispatch_real(call.input(0).dtype(), "fft", [&]<class T>(T) {
    for_each_transform(rows_of(call.input(0)), size, [&](int64_t row, ComplexRow& x, auto transformed) {
      const T *real = call.in<T>(0) + row * size, *imag = call.in<T>(1) + row * size;
      for (size_t j = 0; j < x.size(); ++j)
        x[j] = {static_cast<double>(real[j]), static_cast<double>(imag[j])};
      T *real_out = call.out<T>(0) + row * size, *imag_out = call.out<T>(1) + row * size;
      for (const ComplexNumber& value : transformed()) {
        *real_out++ = static_cast<T>(value.real);
        *imag_out++ = static_cast<T>(value.imag);
      }
    });
  });
}

void rfft_reference(const KernelCall& call) {
  const int64_t given = call.descriptor<FourierDescriptor>().fft_length, size = call.input(0).shape().back();
  const int64_t length = given ? given : size, bins = length / 2 + 1;
  dispatch_real(call.input(0).dtype(), "rfft", [&]<class T>(T) {
    for_each_transform(rows_of(call.input(0)), length, [&](int64_t row, ComplexRow& x, auto transformed) {
      const T* in = call.in<T>(0) + row * size;
      for (int64_t j = 0; j < std::min(size, length); ++j)
        x[static_cast<size_t>(j)].real = static_cast<double>(in[j]);
      const ComplexRow& y = transformed();
      for (int64_t k = 0; k < bins; ++k) {
        call.out<T>(0)[row * bins + k] = static_cast<T>(y[static_cast<size_t>(k)].real);
        call.out<T>(1)[row * bins + k] = static_cast<T>(y[static_cast<size_t>(k)].imag);
      }
    });
  });
}

/// The conjugates of a whole spectrum of real numbers, of which the first half is given.
template <class T>
void fill_conjugates(const T* real, const T* imag, int64_t bins, ComplexRow& x) {
  const int64_t length = static_cast<int64_t>(x.size());
  for (int64_t k = 0; k < std::min(bins, length / 2 + 1); ++k) {
    const bool is_real = k == 0 || 2 * k == length;
    const ComplexNumber value{static_cast<double>(real[k]), is_real ? 0.0 : static_cast<double>(imag[k])};
    x[static_cast<size_t>(k)] = {value.real, -value.imag};
    if (!is_real) x[static_cast<size_t>(length - k)] = value;
  }
}

void irfft_reference(const KernelCall& call) {
  const int64_t bins = call.input(0).shape().back(), length = call.output(0).shape().back();
  dispatch_real(call.input(0).dtype(), "irfft", [&]<class T>(T) {
    for_each_transform(rows_of(call.input(0)), length, [&](int64_t row, ComplexRow& x, auto transformed) {
      fill_conjugates(call.in<T>(0) + row * bins, call.in<T>(1) + row * bins, bins, x);
      T* out = call.out<T>(0) + row * length;
      for (const ComplexNumber& value : transformed())
        *out++ = static_cast<T>(value.real / static_cast<double>(length));
    });
  });
}

/// The last axis cut or filled up with zeros.
Tensor fitted(const Tensor& x, int64_t size) {
  const int64_t there = x.shape().back();
  if (there == size) return x;
  if (there > size) return slice_axis(x, x.rank() - 1, {0, size});
  std::vector<std::pair<int64_t, int64_t>> widths(static_cast<size_t>(x.rank()));
  widths.back().second = size - there;
  return pad(x, widths);
}

/// The gradients of real and imaginary parts, zeros where there is none.
ComplexTensor gradients_of_parts(GradContext& c) {
  const auto part = [&](size_t i) {
    const Tensor& like = c.output(i);
    return c.grad(i).defined() ? c.grad(i) : zeros_like(c.grad(1 - i), like.dtype());
  };
  return {part(0), part(1)};
}

/// The adjoint transform: the conjugate of the transform of the conjugates.
void fft_gradient(GradContext& c) {
  const ComplexTensor dy = gradients_of_parts(c), found = fft({dy.real, -dy.imag});
  c.set(0, found.real);
  c.set(1, -found.imag);
}

void rfft_gradient(GradContext& c) {
  const int64_t given = c.descriptor<FourierDescriptor>().fft_length, size = c.input(0).shape().back();
  const int64_t length = given ? given : size;
  const ComplexTensor dy = gradients_of_parts(c);
  c.set(0, fitted(fft({fitted(dy.real, length), fitted(-dy.imag, length)}).real, size));
}

/// Each number but the first and, for an even length, the last stands for two of the whole spectrum.
void irfft_gradient(GradContext& c) {
  const int64_t length = c.output().shape().back(), size = c.input(0).shape().back();
  const ComplexTensor found = rfft(c.grad(), length);
  std::vector<double> weights(static_cast<size_t>(length / 2 + 1), 2.0 / static_cast<double>(length));
  weights.front() /= 2;
  if (length % 2 == 0) weights.back() /= 2;
  const Tensor all = cast(Tensor::from(weights, {length / 2 + 1}, c.grad().device()), c.grad().dtype());
  c.set(0, fitted(found.real * all, size));
  c.set(1, fitted(found.imag * all, size));
}

bool is_wide_float(DType dtype) { return dtype == DType::float32 || dtype == DType::float64; }

const ComplexTensor& expect_complex(const ComplexTensor& x, const char* name) {
  const DType real = x.real.dtype(), imag = x.imag.dtype();
  if (real != imag || !is_wide_float(real))
    throw DTypeError(std::string(name) +
                     ": expected real and imaginary parts of float32 or both of float64, received " +
                     std::string(name_of(real)) + " and " + std::string(name_of(imag)) + "; cast them");
  if (x.real.rank() != x.imag.rank() || !matches(x.real.shape(), x.imag.shape()))
    throw ShapeError(std::string(name) + ": expected real and imaginary parts of one shape, received " +
                     x.real.shape().to_string() + " and " + x.imag.shape().to_string());
  return x;
}

FourierDescriptor describe_length(std::optional<int64_t> fft_length, const char* name) {
  if (fft_length && *fft_length < 1)
    throw InvalidArgumentError(std::string(name) + ": expected fft_length >= 1, received " +
                               std::to_string(*fft_length));
  return {fft_length.value_or(0)};
}

ComplexTensor with_axes_swapped(const ComplexTensor& x) {
  return {swapaxes(x.real, -2, -1), swapaxes(x.imag, -2, -1)};
}

void expect_two_axes(const ComplexTensor& x, const char* name) {
  if (x.real.rank() < 2)
    throw ShapeError(std::string(name) + ": expected at least two axes, received shape " +
                     x.real.shape().to_string());
}

}  // namespace

const OpDef kFft = {.name = "fft",
                    .num_outputs = 2,
                    .infer = infer_fft,
                    .gradient = fft_gradient,
                    .reference = fft_reference,
                    .twice_differentiable = true};
const OpDef kRfft = {.name = "rfft",
                     .num_outputs = 2,
                     .infer = infer_rfft,
                     .gradient = rfft_gradient,
                     .reference = rfft_reference,
                     .twice_differentiable = true};
const OpDef kIrfft = {.name = "irfft",
                      .infer = infer_irfft,
                      .gradient = irfft_gradient,
                      .reference = irfft_reference,
                      .twice_differentiable = true};

ComplexTensor fft(const ComplexTensor& x) {
  expect_complex(x, "fft");
  const Tensor* const inputs[] = {&x.real, &x.imag};
  std::array<Tensor, 2> outputs;
  dispatch(kFft, FourierDescriptor{}, inputs, outputs);
  return {outputs[0], outputs[1]};
}

ComplexTensor fft2(const ComplexTensor& x) {
  expect_two_axes(expect_complex(x, "fft2"), "fft2");
  return with_axes_swapped(fft(with_axes_swapped(fft(x))));
}

ComplexTensor ifft2(const ComplexTensor& x) {
  expect_two_axes(expect_complex(x, "ifft2"), "ifft2");
  const Shape& shape = x.real.shape();
  if (shape[-2] == None || shape[-1] == None)
    throw ShapeError("ifft2: expected known sizes of the last two axes, received shape " + shape.to_string());
  const double scale = 1.0 / static_cast<double>(std::max<int64_t>(shape[-2] * shape[-1], 1));
  const ComplexTensor found = fft2({x.real, -x.imag});
  return {found.real * scale, found.imag * -scale};
}

ComplexTensor rfft(const Tensor& x, std::optional<int64_t> fft_length) {
  const Tensor values = is_floating(x.dtype()) ? x : cast(x, DType::float32);
  if (!is_wide_float(values.dtype()))
    throw DTypeError("rfft: expected float32, float64 or integers, received " +
                     std::string(name_of(x.dtype())) + "; cast it");
  const Tensor* const inputs[] = {&values};
  std::array<Tensor, 2> outputs;
  dispatch(kRfft, describe_length(fft_length, "rfft"), inputs, outputs);
  return {outputs[0], outputs[1]};
}

Tensor irfft(const ComplexTensor& x, std::optional<int64_t> fft_length) {
  expect_complex(x, "irfft");
  return dispatch(kIrfft, describe_length(fft_length, "irfft"), {&x.real, &x.imag});
}

}  // namespace nyala::ops
