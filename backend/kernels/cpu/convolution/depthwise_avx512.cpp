#include <nyala/backend/kernels/cpu/base/masked_avx512.h>
#include <nyala/backend/kernels/cpu/convolution/depthwise_vector.h>

namespace nyala {

const DepthwiseLoops& depthwise_loops_avx512() {
  static constexpr DepthwiseLoops loops = vec::make_depthwise_loops<64>();
  return loops;
}

}  // namespace nyala
