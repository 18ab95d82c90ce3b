#include <nyala/files/base/file_errors.h>

#include <sys/resource.h>

#include <cerrno>
#include <string_view>
#include <filesystem>
#include <system_error>

#include <nyala/backend/core/error.h>

namespace nyala {

namespace {

std::string hint_of(int code) {
  rlimit limit{};
  if (code != EFBIG || ::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "";
  return "; files of this process may have at most " + std::to_string(limit.rlim_cur) +
         " bytes (RLIMIT_FSIZE, ulimit -f)";
}

}  // namespace

void throw_file_error(const std::string& what, int code) {
  const std::string text = what + ": " + std::generic_category().message(code) + hint_of(code);
  if (code == ENOMEM) throw OutOfMemoryError(text);
  throw IoError(text);
}

const std::string& checked_path(const std::string& path) {
  const size_t nul = path.find('\0');
  if (nul == std::string::npos) return path;
  throw InvalidArgumentError("the path " + detail::in_quotes(path) + " has a NUL byte at position " +
                             std::to_string(nul) + ", where the system would take it to end");
}

namespace {

std::filesystem::file_status status_of(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(checked_path(path), error);
  if (status.type() == std::filesystem::file_type::none ||
      status.type() == std::filesystem::file_type::unknown)
    throw_file_error("cannot look for '" + path + "'", error.value());
  return status;
}

}  // namespace

bool is_there(const std::string& path) { return std::filesystem::exists(status_of(path)); }

bool is_file(const std::string& path) { return std::filesystem::is_regular_file(status_of(path)); }

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
