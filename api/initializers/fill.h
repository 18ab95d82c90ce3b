#pragma once

#include <nyala/backend/core/tensor.h>

namespace nyala::detail {

/// Sets each element of a host tensor of any dtype to draw(), in row-major order.
template <class Draw>
void fill_each(const Tensor& value, Draw&& draw) {
  const int64_t count = value.num_elements();
  dispatch_any(value.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* out = value.raw_as<T>();
    for (int64_t i = 0; i < count; ++i) {
      const double x = draw();
      if constexpr (std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>)
        out[i] = T(static_cast<float>(x));
      else if constexpr (std::is_same_v<T, bool>)
        out[i] = x != 0.0;
      else
        out[i] = static_cast<T>(x);
    }
  });
}

}  // namespace nyala::detail
