#include <nyala/backend/runtime/device_registry.h>
#include <nyala/backend/runtime/why_no_gpu.h>

namespace nyala {

namespace {

/// Stands in where Nyala was built without the CUDA toolkit: there are no GPUs.
class NoGpus final : public DeviceProvider {
 public:
  int count() const override { return 0; }
  std::unique_ptr<MemorySource> make_memory(int) override { return nullptr; }
  std::unique_ptr<Stream> make_stream(int) override { return nullptr; }
};

}  // namespace

std::unique_ptr<DeviceProvider> make_gpu_provider() { return std::make_unique<NoGpus>(); }

std::string_view why_no_gpu() {
  return "this build of Nyala has no CUDA part (configure with the `cuda` preset where the toolkit is "
         "installed)";
}

}  // namespace nyala
