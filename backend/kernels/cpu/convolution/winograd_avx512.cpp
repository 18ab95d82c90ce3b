#include <nyala/backend/kernels/cpu/base/masked_avx512.h>
#include <nyala/backend/kernels/cpu/convolution/winograd_vector.h>

namespace nyala {

const WinogradLoops& winograd_loops_avx512() {
  static constexpr WinogradLoops loops = vec::make_winograd_loops<64>();
  return loops;
}

}  // namespace nyala
