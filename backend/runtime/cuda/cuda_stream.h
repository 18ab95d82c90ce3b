#pragma once

#include <cuda_runtime_api.h>

#include <nyala/backend/runtime/cuda/pinned_memory.h>
#include <nyala/backend/runtime/staging_ring.h>
#include <nyala/backend/runtime/stream.h>

namespace nyala {

/// One CUDA stream of one GPU. Launches, copies within the device and of small values to it return at once; a
/// copy of larger ones from the host waits until the device has read them.
class CudaStream final : public Stream {
 public:
  explicit CudaStream(Device device);
  ~CudaStream() override;

  Device device() const override { return device_; }
  void launch(const KernelCall& call) override;
  void copy_from_host(void* destination, const void* source, size_t bytes) override;
  void copy_to_host(void* destination, const void* source, size_t bytes) override;
  void copy(void* destination, const void* source, size_t bytes) override;
  void copy_from_peer(void* destination, const void* source, size_t bytes, Stream& owner) override;
  void fill_zero(void* destination, size_t bytes) override;
  std::unique_ptr<Event> record() override;
  void wait(Event& event) override;
  void synchronize() override;

  /// For kernels.
  cudaStream_t handle() const { return stream_; }

 private:
  void make_current() const;

  Device device_;
  cudaStream_t stream_ = nullptr;
  PinnedMemory pinned_;
  StagingRing staging_{pinned_};
};

}  // namespace nyala
