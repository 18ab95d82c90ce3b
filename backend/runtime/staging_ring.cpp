#include <nyala/backend/runtime/staging_ring.h>

#include <mutex>
#include <utility>

#include <nyala/backend/core/out_of_memory.h>

namespace nyala {

StagingRing::Block StagingRing::taken() {
  {
    const std::lock_guard lock(mutex_);
    if (!blocks_.empty() && blocks_.front().read->is_reached()) {
      Block block = std::move(blocks_.front());
      blocks_.pop_front();
      return block;
    }
  }
  void* const data = memory_.allocate(kBlockBytes);
  if (!data)
    throw_out_of_memory([] { return std::string("no memory left on the host for copies to a device"); });
  return {{data, Release{&memory_}}, nullptr};
}

void StagingRing::give_back(Block block) {
  const std::lock_guard lock(mutex_);
  blocks_.push_back(std::move(block));
}

size_t StagingRing::size() const {
  const std::lock_guard lock(mutex_);
  return blocks_.size();
}

}  // namespace nyala
