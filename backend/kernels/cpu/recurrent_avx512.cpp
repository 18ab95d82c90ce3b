#include <nyala/backend/kernels/cpu/gru_vector.h>
#include <nyala/backend/kernels/cpu/lstm_vector.h>
#include <nyala/backend/kernels/cpu/masked_avx512.h>

namespace nyala {

const RecurrentLoops& recurrent_loops_avx512() {
  using Lstm = vec::Lstm<64>;
  using Gru = vec::Gru<64>;
  static constexpr RecurrentLoops loops = {Lstm::kLanes, Lstm::forward, Lstm::backward, Gru::forward,
                                           Gru::backward};
  return loops;
}

}  // namespace nyala
