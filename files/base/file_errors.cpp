#include <nyala/files/base/file_errors.h>

#include <string_view>

#include <nyala/backend/core/error.h>

namespace nyala {

void rethrow_naming(const std::string& file) {
  try {
    throw;
  } catch (Error& error) {
    if (std::string_view(error.what()).find(printable(file, true)) == std::string_view::npos)
      error.put_in_front(file + ": ");
    throw;
  }
}

void let_out_of_memory_pass(const Error& error) {
  if (dynamic_cast<const OutOfMemoryError*>(&error)) throw;
}

}  // namespace nyala
