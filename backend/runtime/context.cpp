#include <nyala/backend/runtime/context.h>

#include <cstddef>
#include <new>

#include <nyala/backend/runtime/device_registry.h>

namespace nyala {

using namespace nyala::detail;

ThreadContext& detail::thread_context() {
  // Without a destructor, which glibc ends the process for where it has no memory to note it. What would be
  // destroyed is given up by the scopes that set it.
  alignas(ThreadContext) thread_local std::byte place[sizeof(ThreadContext)];
  thread_local ThreadContext* context = nullptr;
  if (!context) context = new (place) ThreadContext;
  return *context;
}

ThreadContext& detail::context_of_open_scopes() {
  ThreadContext& context = thread_context();
  if (context.scopes && *context.scopes == 0) {
    context.scopes = nullptr;
    context.creator = nullptr;
    context.strategy = nullptr;
  }
  return context;
}

Device current_device() { return thread_context().device; }

DeviceGuard device(Device where) { return DeviceGuard(existing_device(where)); }

}  // namespace nyala
