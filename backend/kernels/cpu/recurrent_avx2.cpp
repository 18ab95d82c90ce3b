#include <nyala/backend/kernels/cpu/gru_vector.h>
#include <nyala/backend/kernels/cpu/lstm_vector.h>
#include <nyala/backend/kernels/cpu/masked_avx2.h>

namespace nyala {

const RecurrentLoops& recurrent_loops_avx2() {
  using Lstm = vec::Lstm<32>;
  using Gru = vec::Gru<32>;
  static constexpr RecurrentLoops loops = {Lstm::kLanes, Lstm::forward, Lstm::backward, Gru::forward,
                                           Gru::backward};
  return loops;
}

}  // namespace nyala
