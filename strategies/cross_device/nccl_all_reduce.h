#pragma once

#include <nyala/strategies/cross_device/cross_device_ops.h>

namespace nyala {

struct NcclAllReduceConfig {
  /// Pieces that batch_reduce() packs its entries into; 0: no packing.
  int num_packs = 1;
};

/// NCCL's all-reduce, for GPUs. Always sums to all.
class NcclAllReduce final : public CrossDeviceOps {
 public:
  using Config = NcclAllReduceConfig;
  /// Throws InvalidArgumentError for a negative num_packs.
  explicit NcclAllReduce(const Config& config = {});

  std::string name() const override { return "NcclAllReduce"; }
  /// Throws NotFoundError in a build without NCCL, InvalidArgumentError for a device that is no GPU; both say
  /// what to use instead.
  void check_devices(const std::vector<Device>& devices) const override;
  std::vector<Tensors> batch_reduce(ReduceOp op, const std::vector<Tensors>& values,
                                    const std::vector<Device>& destinations) const override;

 protected:
  void sum_in_place(std::span<const Tensor> buffers, bool to_all) const override;

 private:
  Config config_;
};

}  // namespace nyala
