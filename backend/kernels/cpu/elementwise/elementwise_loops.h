#pragma once

#include <cstdint>

namespace nyala {

/// Loops over contiguous float32 runs for one kind of CPU. Results depend on the numbers alone, not on where
/// a run begins or ends.
struct ElementwiseLoops {
  /// y[i] = f(a[i], b[i]); with a scalar on one side only its first element is read. y may be a or b.
  using Binary = void (*)(const float* a, const float* b, float* y, int64_t count);
  struct BinaryLoops {
    Binary both, scalar_a, scalar_b;
  };
  BinaryLoops add, subtract, multiply, divide, maximum, minimum, squared_difference;

  /// y[i] = f(x[i]) with up to two parameters.
  using Unary = void (*)(const float* x, float* y, int64_t count, const float* parameters);
  Unary affine;        // parameters: scale, offset
  Unary relu;          // x > 0 ? x : 0
  Unary bounded_relu;  // parameters: negative slope, maximum (NaN: none)
  Unary sigmoid, tanh, silu, gelu, gelu_tanh, exp, sqrt, square;
  Unary elu;  // parameters: factor of x above 0, of exp(x) - 1 below

  /// dx[i] = dy[i] * f'(kept[i]).
  struct GradientRun {
    const float *kept, *dy;
    float* dx;
    int64_t count;
  };
  using UnaryGradient = void (*)(const GradientRun& run, const float* parameters);
  UnaryGradient relu_gradient, bounded_relu_gradient, sigmoid_gradient, tanh_gradient, silu_gradient,
      gelu_gradient, gelu_tanh_gradient, square_gradient, elu_gradient, selu_gradient;

  /// Casts; bool as uint8. half_loops.h has those of 16-bit floats.
  void (*uint8_to_float)(const uint8_t*, float*, int64_t);
  void (*int32_to_float)(const int32_t*, float*, int64_t);
  void (*int64_to_float)(const int64_t*, float*, int64_t);
  void (*double_to_float)(const double*, float*, int64_t);
  void (*float_to_uint8)(const float*, uint8_t*, int64_t);
  void (*float_to_int32)(const float*, int32_t*, int64_t);
  void (*float_to_double)(const float*, double*, int64_t);

  /// The sum of a run, by chunks of fixed size.
  double (*sum)(const float* x, int64_t count);
  /// out[c] = sum over rows of x[row * stride + c] for c < columns.
  struct Block {
    const float* x;
    int64_t stride, rows, columns;
  };
  void (*column_sums)(const Block& block, float* out);
};

/// The loops for vectors of 32 (AVX2 with FMA) and 64 bytes (AVX-512 F, BW, DQ, VL). Call only what
/// cpu_level() offers.
const ElementwiseLoops& elementwise_loops_avx2();
const ElementwiseLoops& elementwise_loops_avx512();

}  // namespace nyala
