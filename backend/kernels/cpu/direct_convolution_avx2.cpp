#include <nyala/backend/kernels/cpu/direct_convolution_vector.h>
#include <nyala/backend/kernels/cpu/masked_avx2.h>

namespace nyala {

const DirectConvolutionLoops& direct_convolution_loops_avx2() {
  static constexpr DirectConvolutionLoops loops = vec::make_direct_convolution_loops<32>();
  return loops;
}

}  // namespace nyala
