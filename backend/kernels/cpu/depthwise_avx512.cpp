#include <nyala/backend/kernels/cpu/depthwise_vector.h>
#include <nyala/backend/kernels/cpu/masked_avx512.h>

namespace nyala {

const DepthwiseLoops& depthwise_loops_avx512() {
  static constexpr DepthwiseLoops loops = vec::make_depthwise_loops<64>();
  return loops;
}

}  // namespace nyala
