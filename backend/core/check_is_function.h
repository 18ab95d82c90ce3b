#pragma once

namespace nyala::detail {

/// Throws InvalidArgumentError: "`what`: expected a function, received an empty one".
[[noreturn]] void throw_empty_function(const char* what);

/// The same for an empty std::function or pointer; what cannot be empty passes. `what` is whose it is.
template <class F>
void check_is_function(const F& f, const char* what) {
  if constexpr (requires { f == nullptr; })
    if (f == nullptr) throw_empty_function(what);
}

}  // namespace nyala::detail
