#include <nyala/backend/kernels/cpu/base/masked_avx512.h>
#include <nyala/backend/kernels/cpu/convolution/single_channel_vector.h>

namespace nyala {

const SingleChannelLoops& single_channel_loops_avx512() {
  static constexpr SingleChannelLoops loops = vec::make_single_channel_loops<64>();
  return loops;
}

}  // namespace nyala
