#include <nyala/strategies/comm/buffers.h>

#include <nyala/backend/ops/arithmetic.h>
#include <nyala/backend/ops/dispatch.h>

namespace nyala {

bool all_on_cpu(std::span<const Tensor> buffers) {
  return std::all_of(buffers.begin(), buffers.end(),
                     [](const Tensor& buffer) { return buffer.device().kind == DeviceKind::cpu; });
}

Tensor seen_from(Device device, const Tensor& value) {
  const bool both_cpu = device.kind == DeviceKind::cpu && value.device().kind == DeviceKind::cpu;
  return both_cpu ? value.alias_on(device) : value.to(device);
}

Tensor copy_on(const Tensor& value, Device device) {
  const Tensor copy = Tensor::empty(value.shape(), value.dtype(), device);
  copy.copy_from(value);
  return copy;
}

void add_into(const Tensor& target, const Tensor& source) {
  const Tensor here = seen_from(target.device(), source);
  dispatch_into(ops::kAddInPlace, NoDescriptor{}, {&here}, target);
}

}  // namespace nyala
