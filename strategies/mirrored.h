#pragma once

#include <string>
#include <vector>

#include <nyala/strategies/cross_device/cross_device_ops.h>
#include <nyala/strategies/strategy.h>

namespace nyala {

/// When replicas on CPU devices use the same bytes for weights that only the optimizer writes.
enum class SharedWeights { automatic, never };

struct MirroredStrategyConfig {
  /// Names of the devices, one replica each; empty: all accelerators, else the first CPU.
  std::vector<std::string> devices = {};
  /// How gradients are summed, e.g. RingAllReduce() or an op of the program's own; not given: the choice of
  /// choose_cross_device_ops().
  CrossDeviceOpsOption cross_device_ops = {};
  /// How fast the devices are, one positive number each: rows of a batch are split in this proportion, see
  /// split_rows(). The numbers of training do not depend on it. Empty: all alike.
  std::vector<double> device_weights = {};
  /// `automatic`: replicas on CPU devices share optimizer-updated weights; `never`: every replica has its
  /// copy.
  SharedWeights shared_weights = SharedWeights::automatic;
  /// Elements per bucket whose reduction starts as soon as all replicas' gradients of it are final.
  int64_t bucket_elements = 65536;
};

/// Synchronous data parallelism: every replica sees a piece of each batch, gradients are summed while
/// backward still runs, and one update makes all replicas' weights the same again.
class MirroredStrategy : public Strategy {
 public:
  using Config = MirroredStrategyConfig;
  /// Throws InvalidArgumentError for a device named twice, for weights that are not one positive number per
  /// device and for an op that does not work among the devices, DeviceNotFoundError for a device that does
  /// not exist.
  explicit MirroredStrategy(Config config = {});
};

}  // namespace nyala
