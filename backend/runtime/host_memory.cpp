#include <nyala/backend/runtime/host_memory.h>

#include <sys/mman.h>

#include <cstdlib>
#include <mutex>

#include <nyala/backend/runtime/proven_room.h>

namespace nyala {

namespace {

constexpr size_t kHugePage = size_t{2} << 20;

size_t round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

void* HostMemory::allocate(size_t bytes) {
  const std::lock_guard lock(host_growth());
  const size_t alignment = bytes >= kHugePage ? kHugePage : 64;
  void* const data = std::aligned_alloc(alignment, round_up(bytes, alignment));
  if (data && !has_room(kHostMargin)) {
    std::free(data);
    return nullptr;
  }
  // Advice only: where huge pages are off, the block works all the same.
  if (data && alignment == kHugePage) madvise(data, round_up(bytes, alignment), MADV_HUGEPAGE);
  return data;
}

void HostMemory::release(void* data, size_t) noexcept { std::free(data); }

void HostMemory::discard(void* data, size_t bytes) noexcept { madvise(data, bytes, MADV_DONTNEED); }

}  // namespace nyala
