#include <nyala/backend/kernels/cpu/depthwise_vector.h>
#include <nyala/backend/kernels/cpu/masked_avx2.h>

namespace nyala {

const DepthwiseLoops& depthwise_loops_avx2() {
  static constexpr DepthwiseLoops loops = vec::make_depthwise_loops<32>();
  return loops;
}

}  // namespace nyala
