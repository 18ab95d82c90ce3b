#include <nyala/backend/runtime/caching_allocator.h>

#include <algorithm>
#include <bit>

#include <nyala/backend/core/error.h>

namespace nyala {

namespace {

constexpr size_t kSmallest = 64;

}  // namespace

CachingAllocator::CachingAllocator(Device device, std::unique_ptr<MemorySource> source)
    : device_(device), source_(std::move(source)) {
  if (source_ && source_->grows_on_touch()) arena_.emplace(*source_, device, this);
}

CachingAllocator::~CachingAllocator() { release_cached(); }

// Four classes per power of two: a block is at most a quarter larger than asked for.
size_t CachingAllocator::class_of(size_t bytes) {
  bytes = std::max(bytes, kSmallest);
  const size_t exponent =
      static_cast<size_t>(std::bit_width(bytes - 1)) - 1;  // 2^exponent < bytes <= 2^(e+1)
  const size_t step = (size_t{1} << exponent) / 4;
  const size_t quarter = (bytes - (size_t{1} << exponent) + step - 1) / step;  // 1..4
  return exponent * 4 + quarter - 1;
}

size_t CachingAllocator::size_of_class(size_t index) {
  const size_t exponent = index / 4;
  return (size_t{1} << exponent) + (index % 4 + 1) * ((size_t{1} << exponent) / 4);
}

StorageRef CachingAllocator::allocate(size_t bytes) {
  if (bytes > (size_t{1} << 48))
    throw OutOfMemoryError("a request of " + std::to_string(bytes) + " bytes on " + device_.to_string() +
                           " is more than any machine has; look for a wrong shape");
  std::lock_guard lock(mutex_);
  ++stats_.requests;
  const bool large = arena_ && bytes > kLarge;
  Storage* storage = large ? arena_->allocate(bytes) : allocate_block(bytes);
  if (!storage) {
    release_cached_locked();
    storage = large ? arena_->allocate(bytes) : allocate_block(bytes);
  }
  if (!storage)
    throw OutOfMemoryError("no memory left on " + device_.to_string() + " for " + std::to_string(bytes) +
                           " bytes; " + std::to_string(stats_.live_bytes) +
                           " bytes are in use (a smaller batch needs less)");
  stats_.live_bytes += storage->bytes();
  count_arena();
  stats_.peak_bytes = std::max(stats_.peak_bytes, stats_.live_bytes + stats_.cached_bytes);
  return StorageRef(storage);
}

Storage* CachingAllocator::allocate_block(size_t bytes) {
  const size_t index = class_of(bytes);
  std::vector<Storage*>& bin = free_[index];
  if (!bin.empty()) {
    Storage* storage = bin.back();
    bin.pop_back();
    binned_bytes_ -= storage->bytes();
    return storage;
  }
  const size_t size = size_of_class(index);
  void* data = source_->allocate(size);
  if (!data) return nullptr;
  ++blocks_;
  return new Storage(data, size, device_, this);
}

void CachingAllocator::count_arena() {
  stats_.cached_bytes = binned_bytes_ + (arena_ ? arena_->free_bytes() : 0);
  stats_.system_allocations = blocks_ + (arena_ ? arena_->fresh_blocks() : 0);
}

void CachingAllocator::reclaim(Storage* storage) noexcept {
  std::lock_guard lock(mutex_);
  stats_.live_bytes -= storage->bytes();
  if (arena_ && storage->bytes() > kLarge) {
    arena_->release(static_cast<BlockArena::BlockStorage*>(storage));
  } else {
    binned_bytes_ += storage->bytes();
    free_[class_of(storage->bytes())].push_back(storage);
  }
  count_arena();
}

void CachingAllocator::release_cached() {
  std::lock_guard lock(mutex_);
  release_cached_locked();
}

void CachingAllocator::release_cached_locked() {
  for (std::vector<Storage*>& bin : free_) {
    for (Storage* storage : bin) {
      binned_bytes_ -= storage->bytes();
      source_->release(storage->data(), storage->bytes());
      delete storage;
    }
    bin.clear();
  }
  if (arena_) arena_->release_free();
  count_arena();
}

AllocatorStats CachingAllocator::stats() const {
  std::lock_guard lock(mutex_);
  return stats_;
}

}  // namespace nyala
