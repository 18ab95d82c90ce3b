#include <nyala/backend/kernels/cpu/base/masked_avx2.h>
#include <nyala/backend/kernels/cpu/normalization/layer_normalization_vector.h>

namespace nyala {

const LayerNormalizationLoops& layer_normalization_loops_avx2() {
  static constexpr LayerNormalizationLoops loops = vec::make_layer_normalization_loops<32>();
  return loops;
}

}  // namespace nyala
