#pragma once

#include <cstddef>
#include <cstring>
#include <deque>
#include <memory>

#include <nyala/backend/core/mutex.h>
#include <nyala/backend/runtime/memory_source.h>
#include <nyala/backend/runtime/stream.h>

namespace nyala {

/// Host memory through which a stream that queues its work copies small values: the caller's bytes are free
/// at once, and nobody waits. A block is used again when the device has come to the event behind its copy;
/// where the oldest is still to be read, another is made. Thread-safe.
class StagingRing {
 public:
  static constexpr size_t kBlockBytes = 4096;

  /// Of blocks from `memory`, which outlives the ring: for a GPU pinned.
  explicit StagingRing(MemorySource& memory) : memory_(memory) {}
  StagingRing(const StagingRing&) = delete;
  StagingRing& operator=(const StagingRing&) = delete;

  /// Calls copy(block) to queue a copy out of a block, which holds the first `bytes` of `source`, on
  /// `stream`. At most kBlockBytes. Throws OutOfMemoryError.
  template <class Copy>
  void pass(const void* source, size_t bytes, Stream& stream, Copy&& copy) {
    Block block = taken();
    std::memcpy(block.data.get(), source, bytes);
    copy(static_cast<const void*>(block.data.get()));
    block.read = stream.record();
    give_back(std::move(block));
  }

  /// Blocks there are, those whose copy is queued now not counted.
  size_t size() const;

 private:
  struct Release {
    MemorySource* memory;
    void operator()(void* data) const noexcept { memory->release(data, kBlockBytes); }
  };
  struct Block {
    std::unique_ptr<void, Release> data;
    std::unique_ptr<Event> read;
  };

  Block taken();
  void give_back(Block block);

  MemorySource& memory_;
  mutable Mutex mutex_;
  std::deque<Block> blocks_;  // the one that was used longest ago first
};

}  // namespace nyala
