#include <nyala/backend/kernels/cpu/elementwise/elementwise_vector.h>

namespace nyala {

const ElementwiseLoops& elementwise_loops_avx512() {
  static constexpr ElementwiseLoops loops = vec::make_elementwise_loops<64>();
  return loops;
}

}  // namespace nyala
