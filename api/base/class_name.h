#pragma once

#include <string>
#include <string_view>

namespace nyala::detail {

/// The name of class C without namespaces, "Conv2D", which is also Keras' for its classes.
template <class C>
std::string class_name_of() {
  // "... [with C = nyala::Conv2D; ...]", "... [C = nyala::Conv2D]"
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.find("C = ") + 4);
  text = text.substr(0, text.find_first_of(";]"));
  const size_t scope = text.rfind("::");
  return std::string(scope == std::string_view::npos ? text : text.substr(scope + 2));
}

}  // namespace nyala::detail
