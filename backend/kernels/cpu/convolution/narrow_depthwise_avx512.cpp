#include <nyala/backend/kernels/cpu/base/masked_avx512.h>
#include <nyala/backend/kernels/cpu/convolution/narrow_depthwise_vector.h>

namespace nyala {

const NarrowDepthwiseLoops& narrow_depthwise_loops_avx512() {
  static constexpr NarrowDepthwiseLoops loops = vec::make_narrow_depthwise_loops<64>();
  return loops;
}

}  // namespace nyala
