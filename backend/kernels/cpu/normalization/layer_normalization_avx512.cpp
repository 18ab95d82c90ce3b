#include <nyala/backend/kernels/cpu/base/masked_avx512.h>
#include <nyala/backend/kernels/cpu/normalization/layer_normalization_vector.h>

namespace nyala {

const LayerNormalizationLoops& layer_normalization_loops_avx512() {
  static constexpr LayerNormalizationLoops loops = vec::make_layer_normalization_loops<64>();
  return loops;
}

}  // namespace nyala
