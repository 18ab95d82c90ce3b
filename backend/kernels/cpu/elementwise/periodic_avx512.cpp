#include <nyala/backend/kernels/cpu/base/masked_avx512.h>
#include <nyala/backend/kernels/cpu/elementwise/periodic_vector.h>

namespace nyala {

const PeriodicLoops& periodic_loops_avx512() {
  static constexpr PeriodicLoops loops = vec::make_periodic_loops<64>();
  return loops;
}

}  // namespace nyala
