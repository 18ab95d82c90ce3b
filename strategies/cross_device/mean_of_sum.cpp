#include <nyala/strategies/cross_device/mean_of_sum.h>

#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>

namespace nyala {

Tensor detail::mean_of_sum(const Tensor& sum, int64_t count) {
  const Tensor by = Tensor::full({}, count, sum.dtype(), sum.device());
  return is_floating(sum.dtype()) ? ops::divide(sum, by) : ops::floor_divide(sum, by);
}

}  // namespace nyala
