#pragma once

#include <nyala/backend/runtime/memory_source.h>

namespace nyala {

/// Host memory: small blocks from the C heap, those of 2 MiB and more mapped, aligned to 2 MiB and offered
/// huge pages, so that they are gone when they are released. Leaves kHostMargin to everybody else
/// (proven_room.h).
class HostMemory final : public MemorySource {
 public:
  void* allocate(size_t bytes) override;
  void release(void* data, size_t bytes) noexcept override;
  bool grows_on_touch() const override { return true; }
  void discard(void* data, size_t bytes) noexcept override;
};

}  // namespace nyala
