#include <nyala/backend/runtime/context.h>

#include <nyala/backend/runtime/device_registry.h>

namespace nyala {

ThreadContext& thread_context() {
  thread_local ThreadContext context;
  return context;
}

Device current_device() { return thread_context().device; }

DeviceGuard device(Device where) { return DeviceGuard(existing_device(where)); }

}  // namespace nyala
