// Small blocks lie in lists by size, four classes per power of two (as in jemalloc), so that at most a
// quarter is lost and taking or giving one is O(1); they never become another size. Those above 1 MiB on the
// host are cut out of segments (block_arena.cpp), because classes of large sizes would keep every size that a
// model ever had. Only where the system has no more is everything given back, and tried once more.
#include <nyala/backend/runtime/caching_allocator.h>

#include <algorithm>
#include <bit>
#include <new>
#include <string>

#include <nyala/backend/core/out_of_memory.h>
#include <nyala/backend/runtime/memory_report.h>

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
  if (Storage* const storage = try_allocate(bytes)) return StorageRef(storage);
  const AllocatorStats before = stats();
  release_cached();
  if (is_on_host(device_)) release_cached_host_memory();
  if (Storage* const storage = try_allocate(bytes)) return StorageRef(storage);
  throw_out_of_memory([&] {
    return "no memory left on " + device_.to_string() + " for a tensor of " + readable_bytes(bytes) + " (" +
           std::to_string(bytes) + " bytes); " + memory_text(before, largest()) +
           " and were given back before the second try (a smaller batch or model needs less)";
  });
}

/// Null where there is no memory for it.
Storage* CachingAllocator::try_allocate(size_t bytes) {
  std::lock_guard lock(mutex_);
  ++stats_.requests;
  Storage* const storage = arena_ && bytes > kLarge ? arena_->allocate(bytes) : allocate_block(bytes);
  if (!storage) return nullptr;
  stats_.live_bytes += storage->bytes();
  count_arena();
  stats_.peak_bytes = std::max(stats_.peak_bytes, stats_.live_bytes);
  return storage;
}

Storage* CachingAllocator::allocate_block(size_t bytes) {
  const size_t index = class_of(bytes);
  std::vector<Storage*>& bin = free_[index];
  if (bin.empty()) return make_block(index);
  Storage* storage = bin.back();
  bin.pop_back();
  binned_bytes_ -= storage->bytes();
  return storage;
}

Storage* CachingAllocator::make_block(size_t index) try {
  std::vector<Storage*>& bin = free_[index];
  if (bin.capacity() <= existing_[index])
    bin.reserve(2 * existing_[index] + 4);  // so that reclaim() need not
  const size_t size = size_of_class(index);
  void* const data = source_->allocate(size);
  if (!data) return nullptr;
  auto* const storage = new (std::nothrow) Storage(data, size, device_, this);
  if (!storage) {
    source_->release(data, size);
    return nullptr;
  }
  ++existing_[index];
  ++blocks_;
  return storage;
} catch (const std::bad_alloc&) {
  return nullptr;
}

void CachingAllocator::count_arena() {
  stats_.cached_bytes = binned_bytes_ + (arena_ ? arena_->free_bytes() : 0);
  stats_.system_allocations = blocks_ + (arena_ ? arena_->fresh_blocks() : 0);
}

void CachingAllocator::reclaim(Storage* storage) noexcept {
  if (!mutex_.lock_unless_lost()) return;  // in a forked child that has to do without
  const std::lock_guard lock(mutex_, std::adopt_lock);
  stats_.live_bytes -= storage->bytes();
  if (arena_ && storage->bytes() > kLarge) {
    arena_->release(static_cast<BlockArena::BlockStorage*>(storage));
  } else {
    binned_bytes_ += storage->bytes();
    free_[class_of(storage->bytes())].push_back(storage);
  }
  count_arena();
}

void CachingAllocator::release_cached() noexcept {
  std::lock_guard lock(mutex_);
  for (size_t index = 0; index < kClasses; ++index) {
    for (Storage* storage : free_[index]) {
      binned_bytes_ -= storage->bytes();
      source_->release(storage->data(), storage->bytes());
      delete storage;
      --existing_[index];
    }
    free_[index].clear();
  }
  if (arena_) arena_->release_free();
  count_arena();
}

std::vector<size_t> CachingAllocator::largest() const {
  std::lock_guard lock(mutex_);
  std::vector<size_t> sizes;
  if (arena_) sizes = arena_->largest(kReported);
  for (size_t index = kClasses; index-- > 0 && sizes.size() < kReported;) {
    const size_t in_use = existing_[index] - free_[index].size();
    sizes.insert(sizes.end(), std::min(in_use, kReported - sizes.size()), size_of_class(index));
  }
  return sizes;
}

void CachingAllocator::reset_peak() {
  std::lock_guard lock(mutex_);
  stats_.peak_bytes = stats_.live_bytes;
}

AllocatorStats CachingAllocator::stats() const {
  std::lock_guard lock(mutex_);
  return stats_;
}

}  // namespace nyala
