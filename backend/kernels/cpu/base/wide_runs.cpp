#include <nyala/backend/kernels/cpu/base/wide_runs.h>

#include <array>
#include <bit>
#include <vector>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/per_thread.h>
#include <nyala/backend/kernels/cpu/base/cpu_level.h>

namespace nyala {

namespace {

template <class T>
void widen(const uint16_t* x, float* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) y[i] = static_cast<float>(std::bit_cast<T>(x[i]));
}

template <class T>
void narrow(const float* x, uint16_t* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) y[i] = std::bit_cast<uint16_t>(T(x[i]));
}

const HalfLoopsOfBoth& loops_of_this_cpu() {
  static constexpr HalfLoopsOfBoth plain{{widen<bfloat16>, narrow<bfloat16>},
                                         {widen<float16>, narrow<float16>}};
  switch (cpu_level()) {
    case CpuLevel::avx512:
      return half_loops_avx512();
    case CpuLevel::avx2:
      return half_loops_avx2();
    case CpuLevel::baseline:
      break;
  }
  return plain;
}

using Buffers = std::array<std::vector<float>, 3>;

}  // namespace

float* wide_scratch(int which, int64_t count) {
  static auto* const of_threads = new PerThread<Buffers>;
  std::vector<float>& buffer = of_threads->get()[static_cast<size_t>(which)];
  if (buffer.size() < static_cast<size_t>(count)) buffer.resize(static_cast<size_t>(count));
  return buffer.data();
}

const HalfLoops& half_loops(DType dtype) {
  detail::check_internal(is_half(dtype), "conversions of a dtype that is no 16-bit float");
  const HalfLoopsOfBoth& both = loops_of_this_cpu();
  return dtype == DType::bfloat16 ? both.bfloat16 : both.float16;
}

}  // namespace nyala
