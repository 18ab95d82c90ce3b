#include <nyala/backend/kernels/cpu/base/masked_avx2.h>
#include <nyala/backend/kernels/cpu/normalization/softmax_vector.h>

namespace nyala {

const SoftmaxLoops& softmax_loops_avx2() {
  static constexpr SoftmaxLoops loops = vec::make_softmax_loops<32>();
  return loops;
}

}  // namespace nyala
