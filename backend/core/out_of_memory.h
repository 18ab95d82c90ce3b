#pragma once

#include <new>

#include <nyala/backend/core/error.h>

namespace nyala {

/// Throws an OutOfMemoryError that was made when the process began: its text says no more than that.
[[noreturn]] void throw_bare_out_of_memory();

/// Throws OutOfMemoryError with what text() returns; the bare one where there is no memory for a text.
template <class Text>
[[noreturn]] void throw_out_of_memory(Text&& text) {
  try {
    throw OutOfMemoryError(text());
  } catch (const std::bad_alloc&) {
  }
  throw_bare_out_of_memory();
}

}  // namespace nyala
