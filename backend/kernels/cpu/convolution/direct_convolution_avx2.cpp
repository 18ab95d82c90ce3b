#include <nyala/backend/kernels/cpu/base/masked_avx2.h>
#include <nyala/backend/kernels/cpu/convolution/direct_convolution_vector.h>

namespace nyala {

const DirectConvolutionLoops& direct_convolution_loops_avx2() {
  static constexpr DirectConvolutionLoops loops = vec::make_direct_convolution_loops<32>();
  return loops;
}

}  // namespace nyala
