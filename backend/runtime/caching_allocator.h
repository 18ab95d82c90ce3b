#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include <nyala/backend/core/mutex.h>
#include <nyala/backend/core/storage.h>
#include <nyala/backend/runtime/block_arena.h>
#include <nyala/backend/runtime/memory_source.h>

namespace nyala {

/// Counts of one device's allocator since the process began. `system_allocations` stays the same over a
/// warm training step.
struct AllocatorStats {
  uint64_t requests = 0;
  uint64_t system_allocations = 0;
  size_t live_bytes = 0;    // held by tensors
  size_t cached_bytes = 0;  // free, waiting for the next request
  size_t peak_bytes = 0;    // highest live_bytes since reset_memory_stats()
};

/// Keeps freed storages, sorted by size class, and hands them out again: fresh memory costs page faults.
/// Large ones on the host are cut out of longer stretches (block_arena.h). Reuse is ordered by the device's
/// stream: a storage freed by the host may be handed out while kernels that use it are still queued, because
/// its next user queues behind them. Thread-safe.
class CachingAllocator final : public StorageOwner {
 public:
  CachingAllocator(Device device, std::unique_ptr<MemorySource> source);
  ~CachingAllocator() override;

  /// A storage of at least `bytes` bytes. Where the system has no more, everything cached is given back (on
  /// the host that of all its devices) and it is tried again; then OutOfMemoryError is thrown, which names
  /// device, bytes wanted, in use and cached, and the largest tensors.
  StorageRef allocate(size_t bytes);

  /// Allocates nothing.
  void reclaim(Storage* storage) noexcept override;

  /// Gives all cached blocks back to the system.
  void release_cached() noexcept;

  AllocatorStats stats() const;
  /// From now on peak_bytes is the highest of what follows.
  void reset_peak();

  static constexpr size_t kReported = 5;
  /// The bytes of the largest storages in use, at most kReported.
  std::vector<size_t> largest() const;

 private:
  static constexpr size_t kClasses = 64 * 4;
  /// Above this requests go to the arena where there is one.
  static constexpr size_t kLarge = size_t{1} << 20;
  static size_t class_of(size_t bytes);
  static size_t size_of_class(size_t index);
  Storage* try_allocate(size_t bytes);
  Storage* allocate_block(size_t bytes);
  Storage* make_block(size_t index);
  void count_arena();

  Device device_;
  std::unique_ptr<MemorySource> source_;
  mutable Mutex mutex_{Mutex::AtFork::is_waited};
  std::array<std::vector<Storage*>, kClasses> free_;  // room for all that exist
  std::array<size_t, kClasses> existing_{};           // storages of each class, free or in use
  std::optional<BlockArena> arena_;
  size_t binned_bytes_ = 0;  // in free_
  uint64_t blocks_ = 0;      // taken from the source for free_
  AllocatorStats stats_;
};

}  // namespace nyala
