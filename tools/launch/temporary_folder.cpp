#include <nyala/tools/launch/temporary_folder.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <nyala/backend/core/error.h>

namespace nyala::tools {

TemporaryFolder::TemporaryFolder(const std::string& prefix) {
  std::error_code error;
  path_ = (std::filesystem::temp_directory_path(error) / (prefix + "XXXXXX")).string();
  if (error || ::mkdtemp(path_.data()) == nullptr)
    throw IoError("cannot make a temporary folder " + detail::in_quotes(path_) + ": " +
                  (error ? error.message() : std::strerror(errno)));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;  // it is temporary
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace nyala::tools
