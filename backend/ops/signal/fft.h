#pragma once

#include <optional>

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// Complex numbers as Keras has them in these functions: real and imaginary parts, of one shape and both
/// float32 or both float64.
struct ComplexTensor {
  Tensor real, imag;
};

// Discrete Fourier transforms, computed in float64, of any length. Their gradients are again transforms. All
// throw ShapeError for parts of two shapes, and DTypeError for other dtypes than float32 and float64, as
// Keras.

/// y_k = sum of x_j exp(-2 pi i j k / n) over the last axis.
ComplexTensor fft(const ComplexTensor& x);
/// The same over the last two axes.
ComplexTensor fft2(const ComplexTensor& x);
/// Its inverse, divided by the number of elements of the last two axes, whose sizes are known.
ComplexTensor ifft2(const ComplexTensor& x);

/// fft of real numbers, of which the other half says nothing new: fft_length / 2 + 1 numbers. The last axis
/// is cut or filled up with zeros to `fft_length`, by default its size. Integers become float32. Throws
/// InvalidArgumentError for a length below 1, ShapeError for an empty axis without a length.
ComplexTensor rfft(const Tensor& x, std::optional<int64_t> fft_length = {});
/// The inverse of rfft: `fft_length` real numbers, by default 2 (size - 1) for the size of the last axis,
/// which is cut or filled up with zeros to fft_length / 2 + 1. Imaginary parts that real numbers cannot have
/// (of the first and, where the length is even, of the last) are not read.
Tensor irfft(const ComplexTensor& x, std::optional<int64_t> fft_length = {});

struct FourierDescriptor {
  int64_t fft_length = 0;  // 0: as the last axis says
};
/// Inputs (real, imag) -> (real, imag); (x) -> (real, imag); (real, imag) -> x.
extern const OpDef kFft, kRfft, kIrfft;

}  // namespace nyala::ops
