#pragma once

namespace nyala::detail {

/// Throws StateError: "Layer: the handle is empty; ..." with how one is made.
[[noreturn]] void throw_empty_handle(const char* kind, const char* how);

/// What a handle's pointer points at. Throws StateError naming the kind of handle where there is nothing.
template <class Pointer>
auto& held(const Pointer& pointer, const char* kind, const char* how) {
  if (!pointer) throw_empty_handle(kind, how);
  return *pointer;
}

}  // namespace nyala::detail
