#pragma once

#include <string>

namespace nyala::tools {

/// A new folder where the system keeps temporary files (TMPDIR, else /tmp); removed with what is in it.
class TemporaryFolder {
 public:
  /// Its name begins with `prefix`. Throws IoError.
  explicit TemporaryFolder(const std::string& prefix);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace nyala::tools
