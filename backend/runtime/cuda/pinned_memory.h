#pragma once

#include <cuda_runtime_api.h>

#include <nyala/backend/runtime/memory_source.h>

namespace nyala {

/// Memory of the host that a GPU reads while the host goes on.
class PinnedMemory final : public MemorySource {
 public:
  void* allocate(size_t bytes) override {
    void* data = nullptr;
    return cudaMallocHost(&data, bytes) == cudaSuccess ? data : nullptr;
  }
  void release(void* data, size_t) noexcept override { cudaFreeHost(data); }
};

}  // namespace nyala
