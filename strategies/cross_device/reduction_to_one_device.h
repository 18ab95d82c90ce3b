#pragma once

#include <optional>
#include <string>

#include <nyala/strategies/cross_device/cross_device_ops.h>

namespace nyala {

struct ReductionToOneDeviceConfig {
  /// Name of the device that sums; empty: that of the first replica.
  std::string device = "";
};

/// All values go to one device, are summed there in replica order and copied back. Works among any devices.
class ReductionToOneDevice final : public CrossDeviceOps {
 public:
  using Config = ReductionToOneDeviceConfig;
  explicit ReductionToOneDevice(const Config& config = {});

  std::string name() const override { return "ReductionToOneDevice"; }
  /// Throws DeviceNotFoundError if the summing device does not exist.
  void check_devices(const std::vector<Device>& devices) const override;

 protected:
  void sum_in_place(std::span<const Tensor> buffers, bool to_all) const override;

 private:
  std::optional<Device> device_;
};

}  // namespace nyala
