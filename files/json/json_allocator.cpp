#include <nyala/files/json/json_allocator.h>

#include <mutex>

#include <nyala/backend/core/mutex.h>

namespace nyala {

namespace {

constexpr size_t kReserve = size_t{256} << 10;

/// Handed out from the front; whole again when everything has come back.
struct Reserve {
  Mutex mutex;
  size_t used = 0;
  int pieces = 0;
  alignas(std::max_align_t) std::byte bytes[kReserve] = {};

  bool holds(const void* data) const { return data >= bytes && data < bytes + kReserve; }
};

Reserve& reserve() {
  static constinit Reserve only;
  return only;
}

}  // namespace

void* allocate_for_teardown(size_t bytes) {
  if (void* const data = ::operator new(bytes, std::nothrow)) return data;
  bytes = (bytes + alignof(std::max_align_t) - 1) / alignof(std::max_align_t) * alignof(std::max_align_t);
  Reserve& own = reserve();
  const std::lock_guard lock(own.mutex);
  if (bytes > kReserve - own.used) throw std::bad_alloc();
  ++own.pieces;
  own.used += bytes;
  return own.bytes + own.used - bytes;
}

void give_back_after_teardown(void* data) noexcept {
  Reserve& own = reserve();
  if (!own.holds(data)) return ::operator delete(data);
  if (!own.mutex.lock_unless_lost()) return;
  const std::lock_guard lock(own.mutex, std::adopt_lock);
  if (--own.pieces == 0) own.used = 0;
}

}  // namespace nyala
