#pragma once

#include <vector>

#include <nyala/backend/core/tensor.h>

namespace nyala {

/// What is added to a norm before dividing by it (Keras' epsilon).
inline constexpr double kNormEpsilon = 1e-7;

namespace detail {

/// sqrt(sum of w^2) over `axes` (empty: all), which stay with size 1.
Tensor norms_of(const Tensor& w, const std::vector<int64_t>& axes);

}  // namespace detail

}  // namespace nyala
