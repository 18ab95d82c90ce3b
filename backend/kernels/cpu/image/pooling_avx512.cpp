#include <nyala/backend/kernels/cpu/base/masked_avx512.h>
#include <nyala/backend/kernels/cpu/image/pooling_vector.h>

namespace nyala {

const PoolingLoops& pooling_loops_avx512() {
  static constexpr PoolingLoops loops = vec::make_pooling_loops<64>();
  return loops;
}

}  // namespace nyala
