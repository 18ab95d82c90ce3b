#pragma once

#include <nyala/backend/runtime/stream.h>

namespace nyala {

/// Runs everything inline on the calling thread, in program order.
class CpuStream final : public Stream {
 public:
  explicit CpuStream(Device device) : device_(device) {}
  Device device() const override { return device_; }
  void launch(const KernelCall& call) override;
  void copy_from_host(void* destination, const void* source, size_t bytes) override;
  void copy_to_host(void* destination, const void* source, size_t bytes) override;
  void copy(void* destination, const void* source, size_t bytes) override;
  void copy_from_peer(void* destination, const void* source, size_t bytes, Stream& owner) override;
  void fill_zero(void* destination, size_t bytes) override;
  std::unique_ptr<Event> record() override;
  void wait(Event& event) override;
  void synchronize() override {}

 private:
  Device device_;
};

}  // namespace nyala
