#include <nyala/strategies/cross_device/reduction_to_one_device.h>

#include <nyala/backend/ops/base/device_copy.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/cross_device/buffers.h>

namespace nyala {

using namespace nyala::detail;

ReductionToOneDevice::ReductionToOneDevice(const Config& config) {
  if (!config.device.empty()) device_ = Device(config.device);
}

void ReductionToOneDevice::check_devices(const std::vector<Device>&) const {
  if (device_) check_device_exists(*device_);
}

void ReductionToOneDevice::sum_in_place(std::span<const Tensor> buffers, bool to_all) const {
  const Tensor sum = ops::seen_from(buffers[0], device_.value_or(buffers[0].device()));
  for (const Tensor& buffer : buffers.subspan(1)) add_into(sum, buffer);
  for (const Tensor& buffer : buffers.first(to_all ? buffers.size() : 1))
    if (buffer.raw() != sum.raw()) buffer.copy_from(sum);
}

}  // namespace nyala
