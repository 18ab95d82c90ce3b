#include <nyala/backend/kernels/cpu/base/masked_avx2.h>
#include <nyala/backend/kernels/cpu/convolution/depthwise_vector.h>

namespace nyala {

const DepthwiseLoops& depthwise_loops_avx2() {
  static constexpr DepthwiseLoops loops = vec::make_depthwise_loops<32>();
  return loops;
}

}  // namespace nyala
