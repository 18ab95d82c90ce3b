#include <nyala/backend/kernels/cpu/base/masked_avx512.h>
#include <nyala/backend/kernels/cpu/convolution/winograd_vector.h>

namespace nyala {

const WinogradLoops& winograd_loops_avx512() {
  static constexpr WinogradLoops loops = vec::make_winograd_loops<64, 2>();
  return loops;
}

const WinogradLoops& winograd4_loops_avx512() {
  static constexpr WinogradLoops loops = vec::make_winograd_loops<64, 4>();
  return loops;
}

}  // namespace nyala
