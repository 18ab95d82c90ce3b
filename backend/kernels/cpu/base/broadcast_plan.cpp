#include <algorithm>

#include <nyala/backend/kernels/cpu/base/broadcast_plan.h>
#include <nyala/backend/ops/base/broadcasting.h>

namespace nyala {

BroadcastPlan::BroadcastPlan(const Shape& a, const Shape& b, const Shape& output) {
  const auto strides_a = broadcast_strides(a, output), strides_b = broadcast_strides(b, output);
  for (int axis = 0; axis < output.rank(); ++axis) {
    const size_t k = static_cast<size_t>(axis);
    const int64_t size = output[axis];
    count_ *= size;
    if (size == 1) continue;
    const bool merges = rank_ > 0 &&
                        (stride_a_[static_cast<size_t>(rank_ - 1)] != 0) == (strides_a[k] != 0) &&
                        (stride_b_[static_cast<size_t>(rank_ - 1)] != 0) == (strides_b[k] != 0);
    if (!merges) ++rank_;
    const size_t last = static_cast<size_t>(rank_ - 1);
    size_[last] = merges ? size_[last] * size : size;
    stride_a_[last] = strides_a[k];
    stride_b_[last] = strides_b[k];
  }
}

}  // namespace nyala
