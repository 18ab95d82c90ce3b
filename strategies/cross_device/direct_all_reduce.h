#pragma once

#include <nyala/strategies/cross_device/cross_device_ops.h>

namespace nyala {

/// Every thread of the caller's team owns slices of the values: it reads a slice of all replicas' once, sums
/// it in replica order and writes it back to all. The fastest way where devices share their memory, the
/// choice for CPUs. Among other devices whole values are added to the first replica's in replica order.
class DirectAllReduce final : public CrossDeviceOps {
 public:
  std::string name() const override { return "DirectAllReduce"; }

 protected:
  void sum_in_place(std::span<const Tensor> buffers, bool to_all) const override;
};

}  // namespace nyala
