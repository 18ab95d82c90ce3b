#include <nyala/backend/kernels/cpu/base/masked_avx2.h>
#include <nyala/backend/kernels/cpu/convolution/winograd_vector.h>

namespace nyala {

const WinogradLoops& winograd_loops_avx2() {
  static constexpr WinogradLoops loops = vec::make_winograd_loops<32, 2>();
  return loops;
}

const WinogradLoops& winograd4_loops_avx2() {
  static constexpr WinogradLoops loops = vec::make_winograd_loops<32, 4>();
  return loops;
}

}  // namespace nyala
