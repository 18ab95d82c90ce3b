#include <nyala/strategies/replicas/replica_devices.h>

#include <algorithm>

#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/device_registry.h>

namespace nyala {

using namespace nyala::detail;

namespace {

std::string all_devices() {
  std::vector<std::string> names;
  for (Device device : list_logical_devices()) names.push_back(device.to_string());
  return quoted_list(names);
}

}  // namespace

std::vector<Device> replica_devices(const std::vector<std::string>& names, const std::string& strategy) {
  std::vector<Device> devices;
  for (const std::string& name : names) {
    const Device device(name);
    if (std::find(devices.begin(), devices.end(), device) != devices.end())
      throw InvalidArgumentError(strategy + ": device '" + device.to_string() +
                                 "' is named twice; each replica needs a device of its own; there are " +
                                 all_devices());
    check_device_exists(device);
    devices.push_back(device);
  }
  if (devices.empty()) devices = list_logical_devices("gpu");
  if (devices.empty()) devices = {Device("cpu:0")};
  return devices;
}

}  // namespace nyala
