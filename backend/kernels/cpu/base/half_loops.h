#pragma once

#include <cstdint>

namespace nyala {

/// Conversions between float32 and one 16-bit float, which is given as its bits. Narrowing rounds to the
/// nearest even and keeps NaN.
struct HalfLoops {
  void (*widen)(const uint16_t* x, float* y, int64_t count);
  void (*narrow)(const float* x, uint16_t* y, int64_t count);
};
struct HalfLoopsOfBoth {
  HalfLoops bfloat16, float16;
};

/// By vectors of 32 (AVX2 with F16C) and 64 bytes (AVX-512 F, BW, DQ, VL). Call only what cpu_level() offers.
const HalfLoopsOfBoth& half_loops_avx2();
const HalfLoopsOfBoth& half_loops_avx512();

}  // namespace nyala
