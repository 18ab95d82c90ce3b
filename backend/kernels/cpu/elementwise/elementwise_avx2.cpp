#include <nyala/backend/kernels/cpu/elementwise/elementwise_vector.h>

namespace nyala {

const ElementwiseLoops& elementwise_loops_avx2() {
  static constexpr ElementwiseLoops loops = vec::make_elementwise_loops<32>();
  return loops;
}

}  // namespace nyala
