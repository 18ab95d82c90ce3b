#include <nyala/api/base/divide_no_nan.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/comparison.h>

namespace nyala {

Tensor divide_no_nan(const Tensor& x, const Tensor& divisor) {
  const Tensor zero = ops::zeros_like(divisor);
  const Tensor is_zero = ops::cast(ops::equal(divisor, zero), divisor.dtype());
  const Tensor is_not = ops::cast(ops::not_equal(divisor, zero), divisor.dtype());
  return x * is_not / (divisor + is_zero);
}

}  // namespace nyala
