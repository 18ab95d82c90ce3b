#pragma once

#include <nyala/backend/runtime/device_registry.h>
#include <nyala/tests/support/mirrored.h>

namespace nyala::golden {

/// `count` logical CPU devices with a strategy over them, for as long as it lives.
class OnDevices {
 public:
  explicit OnDevices(int count) : strategy_(configured(count)) {}
  ~OnDevices() { configure_logical_devices("cpu", 1); }
  OnDevices(const OnDevices&) = delete;
  OnDevices& operator=(const OnDevices&) = delete;

  const Strategy& strategy() const { return strategy_; }

 private:
  static Strategy configured(int count) {
    configure_logical_devices("cpu", count);
    return mirrored(count);
  }
  Strategy strategy_;
};

}  // namespace nyala::golden
