#pragma once

#include <nyala/strategies/cross_device/cross_device_ops.h>

namespace nyala {

struct HierarchicalCopyAllReduceConfig {
  /// Pieces that batch_reduce() packs its entries into; 0: no packing.
  int num_packs = 1;
};

/// Pairs of replicas add up, then pairs of pairs, and so on: ceil(log2 N) rounds for any N, then the sum goes
/// down the same tree. In round k replica i * 2^(k+1) takes replica i * 2^(k+1) + 2^k; one without a partner
/// waits for the next round.
class HierarchicalCopyAllReduce final : public CrossDeviceOps {
 public:
  using Config = HierarchicalCopyAllReduceConfig;
  /// Throws InvalidArgumentError for a negative num_packs.
  explicit HierarchicalCopyAllReduce(const Config& config = {});

  std::string name() const override { return "HierarchicalCopyAllReduce"; }
  std::vector<Tensors> batch_reduce(ReduceOp op, const std::vector<Tensors>& values,
                                    const std::vector<Device>& destinations) const override;

 protected:
  void sum_in_place(std::span<const Tensor> buffers, bool to_all) const override;

 private:
  Config config_;
};

}  // namespace nyala
