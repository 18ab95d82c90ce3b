#include <nyala/datasets/image/broken_images.h>

#include <nyala/backend/core/log.h>

namespace nyala {

void BrokenImages::add(const std::filesystem::path& path, const std::string& reason) {
  size_t count = 0;
  {
    const std::lock_guard lock(mutex_);
    if (!paths_.insert(path).second) return;
    count = paths_.size();
  }
  log(LogChannel::warning, "left out a picture (" + std::to_string(count) + " so far): " + reason);
}

std::vector<std::filesystem::path> BrokenImages::paths() const {
  const std::lock_guard lock(mutex_);
  return {paths_.begin(), paths_.end()};
}

}  // namespace nyala
