#pragma once

#include <string>
#include <vector>

#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/mirrored.h>

namespace nyala::golden {

/// `count` logical CPU devices with a strategy over them, for as long as it lives.
class OnDevices {
 public:
  explicit OnDevices(int count) : strategy_(mirrored(count)) {}
  ~OnDevices() { configure_logical_devices("cpu", 1); }
  OnDevices(const OnDevices&) = delete;
  OnDevices& operator=(const OnDevices&) = delete;

  const Strategy& strategy() const { return strategy_; }

 private:
  static Strategy mirrored(int count) {
    configure_logical_devices("cpu", count);
    MirroredStrategyConfig config;
    for (int i = 0; i < count; ++i) config.devices.push_back("cpu:" + std::to_string(i));
    return MirroredStrategy(config);
  }
  Strategy strategy_;
};

}  // namespace nyala::golden
