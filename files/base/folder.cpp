#include <nyala/files/base/folder.h>

#include <dirent.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <string_view>

#include <nyala/backend/core/error.h>
#include <nyala/files/base/file_errors.h>

namespace nyala {

namespace {

[[noreturn]] void fail(const std::string& folder, int error) {
  throw_file_error(folder + ": cannot read the folder", error);
}

}  // namespace

std::vector<std::string> names_in_folder(const std::string& folder) {
  const auto close = [](DIR* open) { closedir(open); };
  const std::unique_ptr<DIR, decltype(close)> open(opendir(checked_path(folder).c_str()), close);
  if (!open) fail(folder, errno);
  std::vector<std::string> names;
  while (true) {
    errno = 0;
    const dirent* const entry = readdir(open.get());
    if (!entry && errno != 0) fail(folder, errno);
    if (!entry) return names;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
}

void make_folder(const std::string& who, const std::string& what, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    throw IoError(who + ": cannot make the folder for " + what + " " + detail::in_quotes(folder) + ": " +
                  error.message());
}

}  // namespace nyala
