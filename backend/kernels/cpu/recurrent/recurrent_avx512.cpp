#include <nyala/backend/kernels/cpu/base/masked_avx512.h>
#include <nyala/backend/kernels/cpu/recurrent/gru_vector.h>
#include <nyala/backend/kernels/cpu/recurrent/lstm_vector.h>

namespace nyala {

const RecurrentLoops& recurrent_loops_avx512() {
  using Lstm = vec::Lstm<64>;
  using Gru = vec::Gru<64>;
  static constexpr RecurrentLoops loops = {Lstm::kLanes, Lstm::forward, Lstm::backward, Gru::forward,
                                           Gru::backward};
  return loops;
}

}  // namespace nyala
