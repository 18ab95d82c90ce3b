#pragma once

#include <string>
#include <vector>

#include <nyala/backend/core/device.h>

namespace nyala {

/// The devices with these names, one replica each; without names all accelerators, else the first CPU. Throws
/// InvalidArgumentError, naming `strategy`, for a device named twice; both that and DeviceNotFoundError list
/// the devices there are.
std::vector<Device> replica_devices(const std::vector<std::string>& names, const std::string& strategy);

}  // namespace nyala
