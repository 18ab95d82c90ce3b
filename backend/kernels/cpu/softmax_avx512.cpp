#include <nyala/backend/kernels/cpu/masked_avx512.h>
#include <nyala/backend/kernels/cpu/softmax_vector.h>

namespace nyala {

const SoftmaxLoops& softmax_loops_avx512() {
  static constexpr SoftmaxLoops loops = vec::make_softmax_loops<64>();
  return loops;
}

}  // namespace nyala
