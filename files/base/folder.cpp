#include <nyala/files/base/folder.h>

#include <dirent.h>

#include <cerrno>
#include <memory>
#include <string_view>
#include <system_error>

#include <nyala/backend/core/error.h>

namespace nyala {

namespace {

[[noreturn]] void fail(const std::string& folder, int error) {
  const std::string text = folder + ": cannot read the folder: " + std::generic_category().message(error);
  if (error == ENOMEM) throw OutOfMemoryError(text);
  throw IoError(text);
}

}  // namespace

std::vector<std::string> names_in_folder(const std::string& folder) {
  const auto close = [](DIR* open) { closedir(open); };
  const std::unique_ptr<DIR, decltype(close)> open(opendir(folder.c_str()), close);
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

}  // namespace nyala
