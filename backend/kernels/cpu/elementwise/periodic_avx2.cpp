#include <nyala/backend/kernels/cpu/base/masked_avx2.h>
#include <nyala/backend/kernels/cpu/elementwise/periodic_vector.h>

namespace nyala {

const PeriodicLoops& periodic_loops_avx2() {
  static constexpr PeriodicLoops loops = vec::make_periodic_loops<32>();
  return loops;
}

}  // namespace nyala
