#include <nyala/backend/kernels/cpu/base/cpu_level.h>

namespace nyala {

CpuLevel cpu_level() {
  static const CpuLevel level = [] {
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    return avx2 && avx512 ? CpuLevel::avx512 : avx2 ? CpuLevel::avx2 : CpuLevel::baseline;
  }();
  return level;
}

}  // namespace nyala
