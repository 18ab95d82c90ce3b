#include <nyala/strategies/central_storage.h>

#include <algorithm>

#include <nyala/strategies/cross_device/direct_all_reduce.h>
#include <nyala/strategies/cross_device/reduction_to_one_device.h>
#include <nyala/strategies/in_process.h>
#include <nyala/strategies/replicas/replica_devices.h>

namespace nyala {

namespace {

Device parameter_device_of(const CentralStorageStrategyConfig& config, const std::vector<Device>& devices) {
  if (!config.parameter_device.empty()) return Device(config.parameter_device);
  return devices.size() > 1 ? Device("cpu:0") : devices[0];
}

std::shared_ptr<const CrossDeviceOps> ops_of(const CentralStorageStrategyConfig& config,
                                             const std::vector<Device>& devices) {
  if (config.cross_device_ops.get()) return config.cross_device_ops.get();
  if (std::ranges::all_of(devices, is_on_host)) return std::make_shared<DirectAllReduce>();
  return std::make_shared<ReductionToOneDevice>();
}

InProcessOptions options_of(const CentralStorageStrategyConfig& config) {
  const std::vector<Device> devices = replica_devices(config.compute_devices, "CentralStorageStrategy");
  return {.name = "CentralStorageStrategy",
          .devices = devices,
          .bucket_elements = config.bucket_elements,
          .cross_device_ops = ops_of(config, devices),
          .device_weights = config.device_weights,
          .parameter_device = parameter_device_of(config, devices)};
}

}  // namespace

CentralStorageStrategy::CentralStorageStrategy(Config config)
    : Strategy(std::make_shared<InProcessStrategy>(options_of(config))) {}

}  // namespace nyala
