#include <nyala/backend/runtime/cpu_stream.h>

#include <cstring>

#include <nyala/backend/core/op.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/backend/runtime/host_memory.h>

namespace nyala {

namespace {

/// Work before it has run already.
class DoneEvent final : public Event {
 public:
  void synchronize() override {}
  bool is_reached() const override { return true; }
};

/// The CPU is one device, however many logical ones it is split into.
class CpuProvider final : public DeviceProvider {
 public:
  int count() const override { return 1; }
  std::unique_ptr<MemorySource> make_memory(int) override { return std::make_unique<HostMemory>(); }
  std::unique_ptr<Stream> make_stream(int index) override {
    return std::make_unique<CpuStream>(Device(DeviceKind::cpu, index));
  }
};

}  // namespace

std::unique_ptr<DeviceProvider> make_cpu_provider() { return std::make_unique<CpuProvider>(); }

void CpuStream::launch(const KernelCall& call) { call.kernel->run(call); }

void CpuStream::copy_from_host(void* destination, const void* source, size_t bytes) {
  std::memcpy(destination, source, bytes);
}

void CpuStream::copy_to_host(void* destination, const void* source, size_t bytes) {
  std::memcpy(destination, source, bytes);
}

void CpuStream::copy(void* destination, const void* source, size_t bytes) {
  std::memmove(destination, source, bytes);
}

void CpuStream::copy_from_peer(void* destination, const void* source, size_t bytes, Stream& owner) {
  owner.copy_to_host(destination, source, bytes);
}

void CpuStream::fill_zero(void* destination, size_t bytes) { std::memset(destination, 0, bytes); }

std::unique_ptr<Event> CpuStream::record() { return std::make_unique<DoneEvent>(); }

void CpuStream::wait(Event& event) { event.synchronize(); }

}  // namespace nyala
