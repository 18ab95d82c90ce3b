#include <nyala/backend/runtime/stack_room.h>

#include <pthread.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <nyala/backend/core/error.h>

namespace nyala {

namespace {

/// What the deepest call and its error may take.
constexpr size_t kReserve = size_t{512} << 10;

/// Where a stack ends; both 0: nobody knows.
struct Bounds {
  uintptr_t lowest = 0;
  uintptr_t reserved = 0;  // below it nothing nested is to begin
};

Bounds bounds_of_thread() {
  Bounds bounds;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return bounds;
  void* lowest = nullptr;
  size_t size = 0;
  if (pthread_attr_getstack(&attributes, &lowest, &size) == 0) {
    bounds.lowest = reinterpret_cast<uintptr_t>(lowest);
    bounds.reserved = bounds.lowest + std::min(kReserve, size / 4);
  }
  pthread_attr_destroy(&attributes);
  return bounds;
}

}  // namespace

void detail::check_stack_room() {
  thread_local const Bounds bounds = bounds_of_thread();
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  if (here >= bounds.reserved || here < bounds.lowest) return;
  throw StateError(
      "calls are nested so deeply that the stack of this thread is nearly full: expected fewer layers one "
      "inside the other, or a thread with a larger stack (ulimit -s for the first one)");
}

}  // namespace nyala
