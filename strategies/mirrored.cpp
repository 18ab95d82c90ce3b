#include <nyala/strategies/mirrored.h>

#include <algorithm>

#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/in_process.h>

namespace nyala {

namespace {

std::vector<Device> devices_of(const MirroredStrategyConfig& config) {
  std::vector<Device> devices(config.devices.begin(), config.devices.end());
  if (devices.empty()) devices = list_logical_devices("gpu");
  if (devices.empty()) devices = {Device("cpu:0")};
  for (size_t i = 0; i < devices.size(); ++i)
    if (std::find(devices.begin(), devices.begin() + static_cast<std::ptrdiff_t>(i), devices[i]) !=
        devices.begin() + static_cast<std::ptrdiff_t>(i))
      throw InvalidArgumentError("MirroredStrategy: device '" + devices[i].to_string() +
                                 "' is named twice; each replica needs a device of its own");
  return devices;
}

}  // namespace

MirroredStrategy::MirroredStrategy(Config config)
    : Strategy(std::make_shared<InProcessStrategy>(
          InProcessOptions{.name = "MirroredStrategy",
                           .devices = devices_of(config),
                           .share_weights = config.shared_weights == SharedWeights::automatic,
                           .bucket_elements = config.bucket_elements})) {}

}  // namespace nyala
