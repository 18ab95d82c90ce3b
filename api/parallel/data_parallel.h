#pragma once

#include <optional>
#include <vector>

#include <nyala/api/model/model.h>

namespace nyala {

struct DataParallelConfig {
  /// Numbers of visible accelerators, or, where there are none, of logical CPU devices; empty: all of them.
  std::vector<int> device_ids = {};
  /// Where the outputs come together; none: the first of the devices.
  std::optional<Device> output_device = {};
  /// The axis that inputs are cut along and outputs are joined along.
  int dim = 0;
};

/// PyTorch's DataParallel: runs `net` on several devices, each on its slice of the inputs, and gathers the
/// outputs. It is a model: it trains with a hand loop (GradientTape) or with fit, and the numbers are those
/// of `net` on one device, BatchNormalization included (PyTorch normalises each slice by itself). Weights are
/// net's; a file of the one is a file of the other, without a prefix, and compile() of it compiles `net`,
/// too. On one device it runs plainly. With another dim than 0 random numbers depend on the number of
/// devices, since those of Dropout are drawn by row.
class DataParallel : public Model {
 public:
  using Config = DataParallelConfig;
  /// Throws DeviceNotFoundError for a number or device that is not there, InvalidArgumentError for one named
  /// twice or dim < 0, StateError for a model of a strategy with several replicas.
  explicit DataParallel(const Model& net, const Config& config = {});
  template <size_t N>
  explicit DataParallel(const Model&, const NoSuchField (&)[N]) = delete;

  /// The model inside (PyTorch's `module`).
  Model module() const;
};

}  // namespace nyala
