#pragma once

#include <cstdint>

namespace nyala {

/// Loops over one step of some rows of an LSTM or GRU in float32, for one kind of CPU. States (rows, units)
/// lie densely; what belongs to a step of a sequence lies `stride` floats from row to row, gate behind gate.
/// A row whose flag in `counts` (null: none) is false keeps its states; its gates may hold anything, the
/// gradient of what came in is 0.
struct RecurrentLoops {
  enum class Activation : uint8_t { linear, relu, sigmoid, tanh, hard_sigmoid };

  struct Common {
    int64_t rows, units;
    const float* packed;  // the recurrent kernel, see packed_forward and packed_backward
    const bool* counts;
    int64_t counts_stride;
    Activation activation, recurrent;
    [[gnu::always_inline]] bool counts_row(int64_t row) const {
      return !counts || counts[row * counts_stride];
    }
  };

  struct LstmForward {
    Common common;
    const float* z;  // x . kernel + bias, four gates
    int64_t stride;
    const float* h;  // before the step
    float* h_next;
    float* c;      // replaced
    float* gates;  // activated, as z lies; null: not wanted
  };

  struct LstmBackward {
    Common common;
    const float *gates, *c_before;
    int64_t stride, c_stride;
    float* dz;       // as gates lie
    float *dh, *dc;  // after the step, replaced by those before it
  };

  struct GruForward {
    Common common;
    const float* x;  // x . kernel + bias, three gates
    int64_t stride;
    const float* bias;  // of the recurrent product, three gates; null: none
    const float* h;     // before the step
    float* h_next;
    float*
        gates;  // z, r, n and the recurrent part of n: four, `gates_stride` from row to row; null: not wanted
    int64_t gates_stride;
  };

  struct GruBackward {
    Common common;
    const float *gates, *h_before;
    int64_t gates_stride, h_stride;
    float *dx, *drecurrent;  // three gates each
    int64_t stride;
    float* dh;  // after the step, replaced by that before it
  };

  int64_t lanes;
  void (*lstm_forward)(const LstmForward&);
  void (*lstm_backward)(const LstmBackward&);
  void (*gru_forward)(const GruForward&);
  void (*gru_backward)(const GruBackward&);

  /// Floats of a recurrent kernel (units, gates * units) as the forward loops read it: for each `lanes`
  /// units, for each k, the gates' columns, padded with zeros.
  int64_t packed_forward(int64_t units, int64_t gates) const {
    return (units + lanes - 1) / lanes * lanes * gates * units;
  }
  /// As the backward loops read it: for each 4 * lanes units, for each column, those units' numbers.
  int64_t packed_backward(int64_t units, int64_t gates) const {
    return (units + 4 * lanes - 1) / (4 * lanes) * (4 * lanes) * gates * units;
  }
};

/// The loops for vectors of 32 (AVX2 with FMA) and 64 bytes (AVX-512 F, BW, DQ, VL). Call only what
/// cpu_level() offers.
const RecurrentLoops& recurrent_loops_avx2();
const RecurrentLoops& recurrent_loops_avx512();

}  // namespace nyala
