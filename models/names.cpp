#include <nyala/models/names.h>

#include <charconv>

#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/shape.h>

namespace nyala::applications {

using namespace nyala::detail;

std::string detail::shortest(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  const std::string out(text, end);
  return out.find_first_of(".en") == std::string::npos ? out + ".0" : out;
}

std::string detail::two_decimals(double value) { return fixed_text(value, 2); }

std::string detail::size_name(int64_t size) { return size == None ? "None" : std::to_string(size); }

}  // namespace nyala::applications
