#include <nyala/backend/kernels/cpu/base/masked_avx512.h>
#include <nyala/backend/kernels/cpu/normalization/softmax_vector.h>

namespace nyala {

const SoftmaxLoops& softmax_loops_avx512() {
  static constexpr SoftmaxLoops loops = vec::make_softmax_loops<64>();
  return loops;
}

}  // namespace nyala
