#pragma once

#include <nyala/strategies/cross_device/cross_device_ops.h>

namespace nyala {

/// Replicas stand in a ring and values are cut into as many chunks. N - 1 rounds add each chunk on its way
/// around the ring, N - 1 more carry the sums on, so that every link carries 2 (N - 1) / N of the bytes
/// however many replicas there are. In place. Chunk c is summed beginning with replica c: its bits differ
/// from those of a sum in replica order, but not from run to run or from replica to replica.
class RingAllReduce final : public CrossDeviceOps {
 public:
  std::string name() const override { return "RingAllReduce"; }

 protected:
  void sum_in_place(std::span<const Tensor> buffers, bool to_all) const override;
};

}  // namespace nyala
