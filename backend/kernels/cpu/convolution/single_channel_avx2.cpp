#include <nyala/backend/kernels/cpu/base/masked_avx2.h>
#include <nyala/backend/kernels/cpu/convolution/single_channel_vector.h>

namespace nyala {

const SingleChannelLoops& single_channel_loops_avx2() {
  static constexpr SingleChannelLoops loops = vec::make_single_channel_loops<32>();
  return loops;
}

}  // namespace nyala
