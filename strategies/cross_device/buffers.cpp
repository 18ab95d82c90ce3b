#include <nyala/strategies/cross_device/buffers.h>

#include <nyala/backend/ops/base/device_copy.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>

namespace nyala {

using namespace nyala::detail;

bool all_on_cpu(std::span<const Tensor> buffers) {
  return std::ranges::all_of(buffers, [](const Tensor& buffer) { return is_on_host(buffer.device()); });
}

Tensor copy_on(const Tensor& value, Device device) {
  const Tensor copy = Tensor::empty(value.shape(), value.dtype(), device);
  copy.copy_from(value);
  return copy;
}

void add_into(const Tensor& target, const Tensor& source) {
  const Tensor here = ops::seen_from(source, target.device());
  dispatch_into(ops::kAddInPlace, NoDescriptor{}, {&here}, target);
}

}  // namespace nyala
