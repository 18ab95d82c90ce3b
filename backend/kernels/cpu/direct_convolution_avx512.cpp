#include <nyala/backend/kernels/cpu/direct_convolution_vector.h>
#include <nyala/backend/kernels/cpu/masked_avx512.h>

namespace nyala {

const DirectConvolutionLoops& direct_convolution_loops_avx512() {
  static constexpr DirectConvolutionLoops loops = vec::make_direct_convolution_loops<64>();
  return loops;
}

}  // namespace nyala
