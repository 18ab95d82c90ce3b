#include <nyala/api/base/at_least_float32.h>

#include <nyala/backend/ops/base/cast.h>

namespace nyala {

Tensor detail::at_least_float32(const Tensor& x) {
  return x.defined() ? ops::cast(x, dtype_of_sums(x.dtype())) : x;
}

}  // namespace nyala
