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
};

}  // namespace nyala
