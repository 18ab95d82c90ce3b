#include <nyala/backend/kernels/cpu/base/masked_avx2.h>
#include <nyala/backend/kernels/cpu/recurrent/gru_vector.h>
#include <nyala/backend/kernels/cpu/recurrent/lstm_vector.h>

namespace nyala {

const RecurrentLoops& recurrent_loops_avx2() {
  using Lstm = vec::Lstm<32>;
  using Gru = vec::Gru<32>;
  static constexpr RecurrentLoops loops = {Lstm::kLanes, Lstm::forward, Lstm::backward, Gru::forward,
                                           Gru::backward};
  return loops;
}

}  // namespace nyala
