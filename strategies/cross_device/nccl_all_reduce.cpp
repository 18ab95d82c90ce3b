#include <nyala/strategies/cross_device/nccl_all_reduce.h>

#include <nyala/backend/core/error.h>
#include <nyala/strategies/cross_device/nccl.h>
#include <nyala/strategies/cross_device/packing.h>

namespace nyala {

NcclAllReduce::NcclAllReduce(const Config& config) : config_(config) {
  check_num_packs(name(), config.num_packs);
}

void NcclAllReduce::check_devices(const std::vector<Device>& devices) const {
  for (Device device : devices)
    if (device.kind != DeviceKind::gpu)
      throw InvalidArgumentError("NcclAllReduce works among GPUs, received device '" + device.to_string() +
                                 "'; use DirectAllReduce or RingAllReduce among CPU devices, "
                                 "ReductionToOneDevice where kinds mix");
  if (!nccl_is_built()) nccl_all_reduce_sum({});
}

std::vector<Tensors> NcclAllReduce::batch_reduce(ReduceOp op, const std::vector<Tensors>& values,
                                                 const std::vector<Device>& destinations) const {
  return packed_batch_reduce(*this, op, values, destinations, config_.num_packs);
}

void NcclAllReduce::sum_in_place(std::span<const Tensor> buffers, bool) const {
  std::vector<Device> devices;
  for (const Tensor& buffer : buffers) devices.push_back(buffer.device());
  check_devices(devices);
  nccl_all_reduce_sum(buffers);
}

}  // namespace nyala
