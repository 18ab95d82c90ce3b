#pragma once

#include <cuda_runtime_api.h>

#include <nyala/backend/runtime/stream.h>

namespace nyala {

/// One CUDA stream of one GPU. Launches and copies within the device return at once.
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
};

}  // namespace nyala
