#include <nyala/backend/runtime/cuda/cuda_stream.h>

#include <nyala/backend/core/op.h>

#include <nyala/backend/runtime/counters.h>
#include <nyala/backend/runtime/cuda/cuda_check.h>

namespace nyala {

namespace {

class CudaEvent final : public Event {
 public:
  explicit CudaEvent(cudaStream_t stream) {
    cuda_check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "creating an event");
    cuda_check(cudaEventRecord(event_, stream), "recording an event");
  }
  ~CudaEvent() override { cudaEventDestroy(event_); }
  void synchronize() override {
    count_host_wait();
    cuda_check(cudaEventSynchronize(event_), "waiting for an event");
  }
  bool is_reached() const override {
    const cudaError_t status = cudaEventQuery(event_);
    if (status == cudaErrorNotReady) return false;
    cuda_check(status, "looking at an event");
    return true;
  }
  cudaEvent_t handle() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace

CudaStream::CudaStream(Device device) : device_(device) {
  make_current();
  cuda_check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creating a stream");
}

CudaStream::~CudaStream() { cudaStreamDestroy(stream_); }

void CudaStream::make_current() const {
  cuda_check(cudaSetDevice(device_.index), "choosing " + device_.to_string());
}

void CudaStream::launch(const KernelCall& call) {
  make_current();
  call.kernel->run(call);
  cuda_check(cudaGetLastError(), call.op->name);
}

void CudaStream::copy_from_host(void* destination, const void* source, size_t bytes) {
  make_current();
  const auto queue = [&](const void* from) {
    cuda_check(cudaMemcpyAsync(destination, from, bytes, cudaMemcpyHostToDevice, stream_),
               "copying to the device");
  };
  if (bytes <= StagingRing::kBlockBytes) return staging_.pass(source, bytes, *this, queue);
  queue(source);
  synchronize();  // the caller may reuse its memory at once
}

void CudaStream::copy_to_host(void* destination, const void* source, size_t bytes) {
  make_current();
  cuda_check(cudaMemcpyAsync(destination, source, bytes, cudaMemcpyDeviceToHost, stream_),
             "copying to the host");
  synchronize();
}

void CudaStream::copy(void* destination, const void* source, size_t bytes) {
  make_current();
  cuda_check(cudaMemcpyAsync(destination, source, bytes, cudaMemcpyDeviceToDevice, stream_),
             "copying on the device");
}

void CudaStream::copy_from_peer(void* destination, const void* source, size_t bytes, Stream& owner) {
  wait(*owner.record());
  make_current();
  cuda_check(cudaMemcpyPeerAsync(destination, device_.index, source, owner.device().index, bytes, stream_),
             "copying from " + owner.device().to_string());
  owner.wait(*record());
}

void CudaStream::fill_zero(void* destination, size_t bytes) {
  make_current();
  cuda_check(cudaMemsetAsync(destination, 0, bytes, stream_), "filling with zeros");
}

std::unique_ptr<Event> CudaStream::record() {
  make_current();
  return std::make_unique<CudaEvent>(stream_);
}

void CudaStream::wait(Event& event) {
  if (const auto* of_cuda = dynamic_cast<CudaEvent*>(&event))
    cuda_check(cudaStreamWaitEvent(stream_, of_cuda->handle(), 0), "waiting for an event");
  else
    event.synchronize();
}

void CudaStream::synchronize() {
  count_host_wait();
  cuda_check(cudaStreamSynchronize(stream_), "waiting for " + device_.to_string());
}

}  // namespace nyala
