#include <nyala/api/base/at_least_float32.h>

#include <nyala/backend/ops/base/cast.h>

namespace nyala {

Tensor detail::at_least_float32(const Tensor& x) {
  const bool widens = x.defined() && is_floating(x.dtype()) && size_of(x.dtype()) < size_of(DType::float32);
  return widens ? ops::cast(x, DType::float32) : x;
}

}  // namespace nyala
