#include <nyala/backend/kernels/cpu/base/masked_avx2.h>
#include <nyala/backend/kernels/cpu/convolution/narrow_depthwise_vector.h>

namespace nyala {

const NarrowDepthwiseLoops& narrow_depthwise_loops_avx2() {
  static constexpr NarrowDepthwiseLoops loops = vec::make_narrow_depthwise_loops<32>();
  return loops;
}

}  // namespace nyala
