#include <nyala/backend/runtime/device_registry.h>
#include <nyala/backend/runtime/why_no_gpu.h>

#include <nyala/backend/runtime/cuda/cuda_check.h>
#include <nyala/backend/runtime/cuda/cuda_stream.h>

namespace nyala {

namespace {

class CudaMemory final : public MemorySource {
 public:
  explicit CudaMemory(int index) : index_(index) {}
  void* allocate(size_t bytes) override {
    cuda_check(cudaSetDevice(index_), "choosing a GPU");
    void* data = nullptr;
    const cudaError_t status = cudaMalloc(&data, bytes);
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();  // the allocator frees its cache and tries again
      return nullptr;
    }
    cuda_check(status, "allocating device memory");
    return data;
  }
  void release(void* data, size_t) noexcept override { cudaFree(data); }

 private:
  int index_;
};

class CudaProvider final : public DeviceProvider {
 public:
  CudaProvider() {
    if (cudaGetDeviceCount(&count_) != cudaSuccess) count_ = 0;  // no driver, or no GPU
  }
  int count() const override { return count_; }
  std::unique_ptr<MemorySource> make_memory(int index) override {
    return std::make_unique<CudaMemory>(index);
  }
  std::unique_ptr<Stream> make_stream(int index) override {
    return std::make_unique<CudaStream>(Device(DeviceKind::gpu, index));
  }

 private:
  int count_ = 0;
};

}  // namespace

std::unique_ptr<DeviceProvider> make_gpu_provider() { return std::make_unique<CudaProvider>(); }

std::string_view why_no_gpu() { return "the CUDA runtime finds no GPU on this machine"; }

}  // namespace nyala
