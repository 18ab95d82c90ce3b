#include <nyala/backend/runtime/cpu_stream.h>

#include <cstring>

#include <nyala/backend/core/op.h>

namespace nyala {

namespace {

/// Work before it has run already.
class DoneEvent final : public Event {
 public:
  void synchronize() override {}
};

}  // namespace

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
