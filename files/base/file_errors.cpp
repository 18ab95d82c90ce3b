#include <nyala/files/base/file_errors.h>

#include <string_view>

#include <nlohmann/json.hpp>

#include <nyala/backend/core/error.h>

namespace nyala {

void rethrow_naming(const std::string& file) {
  try {
    throw;
  } catch (Error& error) {
    if (std::string_view(error.what()).find(printable(file, true)) == std::string_view::npos)
      error.put_in_front(file + ": ");
    throw;
  } catch (const nlohmann::json::exception& error) {
    throw FileFormatError(file + ": its JSON is not what it should be: " + error.what());
  }
}

void let_out_of_memory_pass(const Error& error) {
  if (dynamic_cast<const OutOfMemoryError*>(&error)) throw;
}

}  // namespace nyala
