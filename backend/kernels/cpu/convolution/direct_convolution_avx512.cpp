#include <nyala/backend/kernels/cpu/base/masked_avx512.h>
#include <nyala/backend/kernels/cpu/convolution/direct_convolution_vector.h>

namespace nyala {

const DirectConvolutionLoops& direct_convolution_loops_avx512() {
  static constexpr DirectConvolutionLoops loops = vec::make_direct_convolution_loops<64>();
  return loops;
}

}  // namespace nyala
