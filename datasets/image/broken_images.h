#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <nyala/backend/core/mutex.h>

namespace nyala {

/// The pictures that iterations of one dataset could not decode. Thread-safe.
class BrokenImages {
 public:
  /// Keeps the path; the first time it is also written to the log as a warning, with how many there are by
  /// now.
  void add(const std::filesystem::path& path, const std::string& reason);
  /// In the order of their names.
  std::vector<std::filesystem::path> paths() const;

 private:
  mutable Mutex mutex_;
  std::set<std::filesystem::path> paths_;
};

}  // namespace nyala
