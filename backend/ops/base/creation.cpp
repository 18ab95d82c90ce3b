#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/dtype_range.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/creation.h>

namespace nyala::ops {

using namespace nyala::detail;

namespace {

/// Element i is value(i), as `dtype` on `device`.
template <class Value>
Tensor generated(const Shape& shape, DType dtype, Device device, Value&& value) {
  const size_t count = static_cast<size_t>(shape.num_elements());
  const Tensor out = Tensor::empty(shape, dtype, device);
  dispatch_any(dtype, [&]<class T>(T) {
    const std::unique_ptr<T[]> values(new T[count]);
    for (size_t i = 0; i < count; ++i) {
      if constexpr (std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>)
        values[i] = T(static_cast<float>(value(static_cast<int64_t>(i))));
      else
        values[i] = static_cast<T>(value(static_cast<int64_t>(i)));
    }
    out.copy_from_host(values.get());
  });
  return out;
}

}  // namespace

Tensor arange(double start, double stop, const ArangeOptions& options) {
  const double step = options.step;
  if (step == 0.0 || !std::isfinite(start) || !std::isfinite(stop) || !std::isfinite(step))
    throw InvalidArgumentError("arange: expected finite bounds and a step other than 0, received " +
                               number_text(start) + " to " + number_text(stop) + " in steps of " +
                               number_text(step));
  const double steps = std::ceil((stop - start) / step);
  if (steps > 0x1p58)
    throw InvalidArgumentError("arange: " + number_text(steps) + " values are more than any memory holds");
  const int64_t count = std::max<int64_t>(0, static_cast<int64_t>(steps));
  const bool whole = std::floor(start) == start && std::floor(stop) == stop && std::floor(step) == step;
  const DType dtype = options.dtype.value_or(whole ? DType::int32 : DType::float32);
  if (is_floating(dtype) || count == 0)
    return generated({count}, dtype, options.device,
                     [&](int64_t i) { return start + step * static_cast<double>(i); });
  if (std::floor(start) != start || std::floor(step) != step)
    throw InvalidArgumentError("arange: expected a whole start and step for " +
                               std::string(name_of(dtype)) + ", received " + number_text(start) + " and " +
                               number_text(step) + "; a floating dtype takes others, ops::cast cuts them");
  if (dtype == DType::bool_ && count > 2)
    throw InvalidArgumentError("arange: expected at most two values of bool, received " +
                               std::to_string(count));
  check_holds(dtype, start, "arange");
  check_holds(dtype, start + step * static_cast<double>(count - 1), "arange");
  if (count == 1) return generated({1}, dtype, options.device, [&](int64_t) { return start; });
  // Exact above 2^53, and i steps may be longer than int64 where the start is negative.
  const auto first = static_cast<long double>(start), apart = static_cast<long double>(step);
  return generated({count}, dtype, options.device, [&](int64_t i) {
    return static_cast<int64_t>(first + apart * static_cast<long double>(i));
  });
}

Tensor arange(double stop) { return arange(0.0, stop); }

Tensor linspace(double start, double stop, int64_t num, const LinspaceOptions& options) {
  if (num < 0)
    throw InvalidArgumentError("linspace: expected at least 0 numbers, received " + std::to_string(num));
  const double gaps = static_cast<double>(options.endpoint ? num - 1 : num);
  const auto value = [&](int64_t i) {
    if (i == 0) return start;
    if (options.endpoint && i == num - 1) return stop;
    return start + (stop - start) * (static_cast<double>(i) / gaps);
  };
  // A bool is whether the number is not 0, as in NumPy.
  if (is_floating(options.dtype) || options.dtype == DType::bool_)
    return generated({num}, options.dtype, options.device, value);
  if (num > 0) {
    check_holds(options.dtype, std::floor(value(0)), "linspace");
    check_holds(options.dtype, std::floor(value(num - 1)), "linspace");
  }
  return generated({num}, options.dtype, options.device, [&](int64_t i) { return std::floor(value(i)); });
}

Tensor eye(int64_t rows, const EyeOptions& options) {
  if (rows < 0 || options.columns < -1)
    throw InvalidArgumentError("eye: expected at least 0 rows and columns (-1: as many as rows), received " +
                               std::to_string(rows) + " and " + std::to_string(options.columns));
  const int64_t columns = options.columns < 0 ? rows : options.columns;
  return generated({rows, columns}, options.dtype, options.device,
                   [&](int64_t i) { return i % columns - i / columns == options.diagonal ? 1.0 : 0.0; });
}

Tensor zeros(const Shape& shape, DType dtype, Device device) { return Tensor::zeros(shape, dtype, device); }
Tensor ones(const Shape& shape, DType dtype, Device device) {
  return Tensor::full(shape, 1.0, dtype, device);
}
Tensor full(const Shape& shape, Number value, DType dtype, Device device) {
  return Tensor::full(shape, value, dtype, device);
}

}  // namespace nyala::ops
