#include <nyala/backend/core/device_kind.h>
#include <nyala/backend/ops/base/kernel_table.h>

namespace nyala {

void register_kernels(KernelTable& table) {
  for (const detail::DeviceKindEntry& entry : detail::kDeviceKindList)
    if (entry.register_kernels) entry.register_kernels(table);
}

}  // namespace nyala
