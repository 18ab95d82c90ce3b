#include <nyala/backend/runtime/context.h>

#include <nyala/backend/runtime/device_registry.h>

namespace nyala {

ThreadContext& thread_context() {
  thread_local ThreadContext context;
  return context;
}

ScopedValue<Device> device(Device where) {
  check_device_exists(where);
  return ScopedValue<Device>(thread_context().device, where);
}

}  // namespace nyala
