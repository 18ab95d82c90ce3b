#pragma once

#include <cstddef>

namespace nyala {

/// Where an allocator gets whole blocks of a device's memory from.
class MemorySource {
 public:
  virtual ~MemorySource() = default;
  /// Returns at least `bytes` bytes aligned to 64, or null when there are none left.
  virtual void* allocate(size_t bytes) = 0;
  virtual void release(void* data, size_t bytes) noexcept = 0;
  /// Whether memory is taken only as it is touched, so that long blocks may be asked for in advance.
  virtual bool grows_on_touch() const { return false; }
  /// Gives the memory behind whole pages of a block back, not their addresses. Where it grows_on_touch().
  virtual void discard(void* data, size_t bytes) noexcept { (void)data, (void)bytes; }
};

}  // namespace nyala
