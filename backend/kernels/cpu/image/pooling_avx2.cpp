#include <nyala/backend/kernels/cpu/base/masked_avx2.h>
#include <nyala/backend/kernels/cpu/image/pooling_vector.h>

namespace nyala {

const PoolingLoops& pooling_loops_avx2() {
  static constexpr PoolingLoops loops = vec::make_pooling_loops<32>();
  return loops;
}

}  // namespace nyala
