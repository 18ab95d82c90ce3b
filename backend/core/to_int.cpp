#include <nyala/backend/core/to_int.h>

#include <limits>
#include <string>

#include <nyala/backend/core/error.h>

namespace nyala {

int detail::to_int(int64_t value, std::string_view what) {
  using Limits = std::numeric_limits<int>;
  if (value < Limits::min() || value > Limits::max())
    throw InvalidArgumentError(std::string(what) + ": expected an integer from " +
                               std::to_string(Limits::min()) + " to " + std::to_string(Limits::max()) +
                               ", received " + std::to_string(value));
  return static_cast<int>(value);
}

std::vector<int> detail::to_ints(std::span<const int64_t> values, std::string_view what) {
  std::vector<int> out;
  for (const int64_t value : values) out.push_back(to_int(value, what));
  return out;
}

}  // namespace nyala
