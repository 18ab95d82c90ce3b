#pragma once

#include <nyala/strategies/strategy.h>

namespace nyala {

/// Everything on one device.
class OneDeviceStrategy : public Strategy {
 public:
  /// Throws DeviceNotFoundError listing the devices there are.
  explicit OneDeviceStrategy(Device device);
};

namespace detail {

/// The strategy of programs that open no scope: one replica on `device`; the same object every time.
std::shared_ptr<StrategyNode> default_strategy(Device device);

}  // namespace detail

}  // namespace nyala
