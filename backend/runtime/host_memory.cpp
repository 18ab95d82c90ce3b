// Large blocks are mapped and not taken from the C heap: between what others keep there they would leave gaps
// that it never gives back, and where the address space is limited, a process that ran out of memory a few
// times would have none left.
#include <nyala/backend/runtime/host_memory.h>

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <mutex>

#include <nyala/backend/runtime/proven_room.h>

namespace nyala {

namespace {

constexpr size_t kHugePage = size_t{2} << 20;

size_t round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

/// Aligned to huge pages: what is mapped too much before and behind is given back.
void* map_huge(size_t bytes) {
  bytes = round_up(bytes, kHugePage);
  void* const mapped =
      mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  const auto begin = reinterpret_cast<uintptr_t>(mapped), data = round_up(begin, kHugePage);
  if (data > begin) munmap(mapped, data - begin);
  if (const size_t rest = begin + kHugePage - data) munmap(reinterpret_cast<void*>(data + bytes), rest);
  // Advice only: where huge pages are off, the block works all the same.
  madvise(reinterpret_cast<void*>(data), bytes, MADV_HUGEPAGE);
  return reinterpret_cast<void*>(data);
}

}  // namespace

void* HostMemory::allocate(size_t bytes) {
  const std::lock_guard lock(host_growth());
  void* const data = bytes >= kHugePage ? map_huge(bytes) : std::aligned_alloc(64, round_up(bytes, 64));
  if (data && !has_room(kHostMargin)) {
    release(data, bytes);
    return nullptr;
  }
  return data;
}

void HostMemory::release(void* data, size_t bytes) noexcept {
  bytes >= kHugePage ? static_cast<void>(munmap(data, round_up(bytes, kHugePage))) : std::free(data);
}

void HostMemory::discard(void* data, size_t bytes) noexcept { madvise(data, bytes, MADV_DONTNEED); }

}  // namespace nyala
