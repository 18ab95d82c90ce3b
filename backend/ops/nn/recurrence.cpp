#include <algorithm>
#include <cmath>
#include <string>

#include <nyala/backend/ops/nn/recurrence.h>

namespace nyala::ops {

using namespace nyala::detail;

template <class T>
T detail::recurrent_activate(T z, RecurrentActivation f) {
  switch (f) {
    case RecurrentActivation::relu:
      return z > T(0) ? z : T(0);
    case RecurrentActivation::sigmoid:
      return T(1) / (T(1) + std::exp(-z));
    case RecurrentActivation::tanh:
      return std::tanh(z);
    case RecurrentActivation::hard_sigmoid:
      return std::clamp(z / T(6) + T(0.5), T(0), T(1));
    case RecurrentActivation::linear:
      break;
  }
  return z;
}

template <class T>
T detail::recurrent_slope(T y, RecurrentActivation f) {
  switch (f) {
    case RecurrentActivation::relu:
      return y > T(0) ? T(1) : T(0);
    case RecurrentActivation::sigmoid:
      return y * (T(1) - y);
    case RecurrentActivation::tanh:
      return T(1) - y * y;
    case RecurrentActivation::hard_sigmoid:
      return y > T(0) && y < T(1) ? T(1) / T(6) : T(0);
    case RecurrentActivation::linear:
      break;
  }
  return T(1);
}

template float detail::recurrent_activate(float, RecurrentActivation);
template double detail::recurrent_activate(double, RecurrentActivation);
template float detail::recurrent_slope(float, RecurrentActivation);
template double detail::recurrent_slope(double, RecurrentActivation);

RowMask::RowMask(const bool* mask, const RecurrentSizes& sizes, bool zero_output)
    : mask_(mask), sizes_(sizes), zero_output_(zero_output) {
  while (first_ < sizes.time && !counts(first_)) ++first_;
}

void detail::check_mask(InferContext& c, size_t i, const Shape& sequence) {
  if (c.dtype(i) != DType::bool_ || c.shape(i).rank() != 2 || !matches(c.shape(i), sequence.slice(0, 2)))
    c.fail("expected a mask of bool " + sequence.slice(0, 2).to_string() + ", received " +
           std::string(name_of(c.dtype(i))) + " " + c.shape(i).to_string());
}

void detail::check_one_floating_dtype(InferContext& c, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (!is_weight_dtype(c.dtype(i), c.dtype(0)))
      c.fail("expected inputs of one floating dtype, received " + std::string(name_of(c.dtype(0))) + " and " +
             std::string(name_of(c.dtype(i))));
}

}  // namespace nyala::ops
