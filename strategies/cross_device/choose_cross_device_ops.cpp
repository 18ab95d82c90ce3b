#include <algorithm>

#include <nyala/strategies/cross_device/direct_all_reduce.h>
#include <nyala/strategies/cross_device/hierarchical_copy_all_reduce.h>
#include <nyala/strategies/cross_device/nccl.h>
#include <nyala/strategies/cross_device/nccl_all_reduce.h>
#include <nyala/strategies/cross_device/reduction_to_one_device.h>

namespace nyala {

std::shared_ptr<const CrossDeviceOps> choose_cross_device_ops(const std::vector<Device>& devices) {
  const auto all_of_kind = [&](DeviceKind kind) {
    return std::all_of(devices.begin(), devices.end(), [kind](Device device) { return device.kind == kind; });
  };
  if (devices.size() < 2 || std::ranges::all_of(devices, is_on_host))
    return std::make_shared<DirectAllReduce>();
  if (all_of_kind(DeviceKind::gpu) && nccl_is_built()) return std::make_shared<NcclAllReduce>();
  if (devices.size() == 2 || !all_of_kind(devices[0].kind)) return std::make_shared<ReductionToOneDevice>();
  return std::make_shared<HierarchicalCopyAllReduce>();
}

}  // namespace nyala
