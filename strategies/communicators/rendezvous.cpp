#include <nyala/strategies/communicators/rendezvous.h>

#include <algorithm>

#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>

namespace nyala::detail {

void check_rendezvous_key(std::string_view key) {
  const auto allowed = [](char c) {
    return is_letter(c) || is_digit(c) || std::string_view("-_./:").find(c) != std::string_view::npos;
  };
  if (key.empty() || key.size() > Rendezvous::kMaxKey || !std::all_of(key.begin(), key.end(), allowed))
    throw InvalidArgumentError("Rendezvous: " + in_quotes(key) + " is no key: 1 to " +
                               std::to_string(Rendezvous::kMaxKey) + " letters, digits and \"-_./:\"");
}

void check_rendezvous_value(std::string_view key, std::string_view value) {
  if (value.size() > Rendezvous::kMaxValue)
    throw InvalidArgumentError("Rendezvous: the value of '" + std::string(key) + "' has " +
                               std::to_string(value.size()) + " bytes, at most " +
                               std::to_string(Rendezvous::kMaxValue));
}

}  // namespace nyala::detail
