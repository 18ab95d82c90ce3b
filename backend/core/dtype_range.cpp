#include <nyala/backend/core/dtype_range.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>

namespace nyala {

namespace {

template <class T>
bool holds(Number value) {
  using Limits = std::numeric_limits<T>;
  if (!value.is_floating())
    return value.as<int64_t>() >= static_cast<int64_t>(Limits::min()) &&
           value.as<int64_t>() <= static_cast<int64_t>(Limits::max());
  const double whole = std::trunc(value.as<double>());
  // As a double the largest of 64 bits is one more than it is.
  return whole >= static_cast<double>(Limits::min()) && whole < std::ldexp(1.0, Limits::digits);
}

}  // namespace

void detail::check_holds(DType dtype, Number value, std::string_view where) {
  if (is_floating(dtype)) return;
  dispatch_arithmetic(dtype, where, [&]<class T>(T) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      if (holds<T>(value)) return;
      const std::string text = value.is_floating() ? number_text(value.as<double>())
                                                   : std::to_string(value.as<int64_t>());
      throw InvalidArgumentError(std::string(where) + ": expected numbers that " +
                                 std::string(name_of(dtype)) + " holds, received " + text +
                                 "; another dtype takes them");
    }
  });
}

}  // namespace nyala
