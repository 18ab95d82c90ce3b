#pragma once

#include <string>
#include <vector>

#include <nyala/strategies/strategy.h>

namespace nyala {

/// When replicas on CPU devices use the same bytes for weights that only the optimizer writes.
enum class SharedWeights { automatic, never };

struct MirroredStrategyConfig {
  /// Names of the devices, one replica each; empty: all accelerators, else the first CPU.
  std::vector<std::string> devices = {};
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
  /// Throws InvalidArgumentError for a device named twice, DeviceNotFoundError for one that does not exist.
  explicit MirroredStrategy(Config config = {});
};

}  // namespace nyala
