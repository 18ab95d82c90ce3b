#include <nyala/api/model/input_dtype.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <nyala/api/layers/base/mask.h>
#include <nyala/api/layers/base/takes_whole_numbers.h>
#include <nyala/api/model/functional.h>
#include <nyala/api/model/sequential.h>
#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>

namespace nyala::detail {

namespace {

bool is_integer(DType dtype) { return !is_floating(dtype) && dtype != DType::bool_; }

/// "[3, 1]" of the element with this number.
std::string place_text(const Shape& shape, int64_t number) {
  std::string text;
  for (int axis = shape.rank(); axis-- > 0; number /= shape[axis])
    text = std::to_string(number % shape[axis]) + (text.empty() ? "" : ", ") + text;
  return "[" + text + "]";
}

/// What a dtype of whole numbers holds.
struct Range {
  int64_t least, most;
};

Range range_of(DType dtype) {
  if (dtype == DType::int64)
    return {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
  if (dtype == DType::int32)
    return {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
  return {0, std::numeric_limits<uint8_t>::max()};
}

bool holds(const Range& range, int64_t value) { return value >= range.least && value <= range.most; }

/// Of a float that is cut. The most of int64 is no double, the number behind it is; nothing holds NaN.
bool holds(const Range& range, double value) {
  const double cut = std::trunc(value);
  return cut >= static_cast<double>(range.least) && cut < static_cast<double>(range.most) + 1;
}

std::string text_of(int64_t value) { return std::to_string(value); }
std::string text_of(double value) { return general_text(value, 17); }

/// Of values of type T, looked at as a Wide.
template <class T, class Wide>
void check_fits(const Tensor& x, const Tensor& input, const InputPlace& place) {
  const Range range = range_of(input.dtype());
  const Tensor host = x.to(Device("cpu:0"));
  const T* const begin = host.raw_as<T>();
  const T* const end = begin + host.num_elements();
  const T* const wrong =
      std::find_if(begin, end, [&](T value) { return !holds(range, static_cast<Wide>(value)); });
  if (wrong == end) return;
  const std::string dtype(name_of(input.dtype()));
  throw InvalidArgumentError(
      "model " + in_quotes(place.model) + ", input " + std::to_string(place.index) + " (" +
      in_quotes(symbolic(input)->producer->name) + "): expected whole numbers that " + dtype + " holds, " +
      std::to_string(range.least) + " to " + std::to_string(range.most) + ", received " +
      text_of(static_cast<Wide>(*wrong)) + " at " + place_text(x.shape(), wrong - begin) + place.within +
      "; an Input({.dtype = \"" + std::string(name_of(x.dtype())) + "\"}) takes it");
}

}  // namespace

bool takes_whole_numbers(const LayerNode& layer) {
  return dynamic_cast<const TakesWholeNumbers*>(&layer) || dynamic_cast<const FunctionalNode*>(&layer) ||
         dynamic_cast<const SequentialNode*>(&layer);
}

bool keeps_whole_numbers(const GraphPlan& plan, int value) {
  if (std::ranges::find(plan.outputs, value) != plan.outputs.end()) return false;
  return std::ranges::all_of(plan.steps, [&](const GraphStep& step) {
    const bool reads = std::ranges::find(step.inputs, value) != step.inputs.end();
    return !reads || (step.node->layer && takes_whole_numbers(step.node->layer.node()));
  });
}

Tensor with_narrowed_integers(const Tensor& x, const Tensor& input, const InputPlace& place) {
  if (is_floating(x.dtype()) && is_integer(input.dtype())) {
    if (!x.is_abstract() && x.dtype() == DType::float32) check_fits<float, double>(x, input, place);
    else if (!x.is_abstract()) check_fits<double, double>(ops::cast(x, DType::float64), input, place);
    return cast_with_metadata(x, input.dtype());
  }
  const bool narrows =
      is_integer(x.dtype()) && is_integer(input.dtype()) && size_of(input.dtype()) < size_of(x.dtype());
  if (!narrows) return x;
  if (!x.is_abstract() && x.dtype() == DType::int64) check_fits<int64_t, int64_t>(x, input, place);
  if (!x.is_abstract() && x.dtype() == DType::int32) check_fits<int32_t, int64_t>(x, input, place);
  return cast_with_metadata(x, input.dtype());
}

Tensor in_input_dtype(const Tensor& x, const Tensor& input, bool keeps_whole_numbers,
                      const InputPlace& place) {
  const DType dtype = input.dtype();
  if (x.dtype() == dtype) return x;
  if (is_floating(x.dtype()) && !is_integer(dtype)) return cast_with_metadata(x, dtype);
  if (is_integer(x.dtype()) && is_floating(dtype) && keeps_whole_numbers) return x;
  const Tensor fits = with_narrowed_integers(x, input, place);
  return fits.dtype() == dtype ? fits : cast_with_metadata(fits, dtype);
}

}  // namespace nyala::detail
