#pragma once

#include <string>
#include <vector>

#include <nyala/strategies/cross_device/cross_device_ops.h>
#include <nyala/strategies/strategy.h>

namespace nyala {

struct CentralStorageStrategyConfig {
  /// Names of the devices that compute, one replica each; empty: all accelerators, else the first CPU.
  std::vector<std::string> compute_devices = {};
  /// Where variables lie and updates take place; "": "cpu:0" for several compute devices, else the only one.
  std::string parameter_device = "";
  /// How gradients are summed on the parameter device; not given: one after the other, in replica order, by
  /// slices.
  CrossDeviceOpsOption cross_device_ops = {};
  /// As for MirroredStrategy.
  std::vector<double> device_weights = {};
  int64_t bucket_elements = 65536;
};

/// Synchronous data parallelism with one copy of each variable, on the parameter device: compute devices read
/// it (in place where they share its memory, else from a copy that every update refreshes), gradients are
/// summed there while backward still runs, and one update, with clipping and all, changes it. Variables that
/// are synchronized on read have a part per replica, as under every strategy.
class CentralStorageStrategy : public Strategy {
 public:
  using Config = CentralStorageStrategyConfig;
  /// Throws InvalidArgumentError and DeviceNotFoundError as MirroredStrategy does.
  explicit CentralStorageStrategy(Config config = {});
};

}  // namespace nyala
