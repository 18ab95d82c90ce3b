#include <nyala/tests/attack/failing_malloc.h>

#include <execinfo.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

namespace attack {

namespace {

struct Range {
  const char* part_of_name;
  Caller caller;
  uintptr_t begin = 0, end = 0;
};

Range g_libraries[] = {
    {"libgomp", Caller::libgomp}, {"ld-linux", Caller::loader}, {"libdnnl", Caller::onednn}};

Caller caller_at(const void* address) {
  const auto place = reinterpret_cast<uintptr_t>(address);
  for (const Range& range : g_libraries)
    if (place >= range.begin && place < range.end) return range.caller;
  return Caller::somebody;
}

/// Counts an allocation that `address` calls for. True where it is to fail.
bool fails(const void* address) {
  Allocations& all = allocations();
  if (!all.armed.load(std::memory_order_relaxed)) return false;
  if (all.count.fetch_add(1, std::memory_order_relaxed) + 1 != all.fail_at.load(std::memory_order_relaxed))
    return false;
  *all.failed = caller_at(address);
  backtrace(all.trace, Allocations::kTrace);
  errno = ENOMEM;
  return true;
}

}  // namespace

Allocations& allocations() {
  static constinit Allocations all;
  return all;
}

void find_libraries() {
  dl_iterate_phdr(
      [](dl_phdr_info* library, size_t, void*) {
        for (Range& range : g_libraries) {
          if (!std::strstr(library->dlpi_name, range.part_of_name)) continue;
          for (int i = 0; i < library->dlpi_phnum; ++i) {
            const ElfW(Phdr)& segment = library->dlpi_phdr[i];
            if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X)) continue;
            range.begin = library->dlpi_addr + segment.p_vaddr;
            range.end = range.begin + segment.p_memsz;
          }
        }
        return 0;
      },
      nullptr);
}

}  // namespace attack

#define ATTACK_CALLER __builtin_return_address(0)

extern "C" {

#ifdef __SANITIZE_ADDRESS__

void* __real_aligned_alloc(size_t alignment, size_t bytes);
void* __wrap_aligned_alloc(size_t alignment, size_t bytes) {
  return attack::fails(ATTACK_CALLER) ? nullptr : __real_aligned_alloc(alignment, bytes);
}

#else

void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* data, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);

void* malloc(size_t bytes) { return attack::fails(ATTACK_CALLER) ? nullptr : __libc_malloc(bytes); }
void* calloc(size_t count, size_t bytes) {
  return attack::fails(ATTACK_CALLER) ? nullptr : __libc_calloc(count, bytes);
}
void* realloc(void* data, size_t bytes) {
  return attack::fails(ATTACK_CALLER) ? nullptr : __libc_realloc(data, bytes);
}
void* memalign(size_t alignment, size_t bytes) {
  return attack::fails(ATTACK_CALLER) ? nullptr : __libc_memalign(alignment, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  return attack::fails(ATTACK_CALLER) ? nullptr : __libc_memalign(alignment, bytes);
}
int posix_memalign(void** data, size_t alignment, size_t bytes) {
  void* const made = attack::fails(ATTACK_CALLER) ? nullptr : __libc_memalign(alignment, bytes);
  if (!made) return ENOMEM;
  *data = made;
  return 0;
}
void* mmap(void* place, size_t bytes, int protection, int flags, int file, off_t offset) {
  if (attack::fails(ATTACK_CALLER)) return MAP_FAILED;
  return reinterpret_cast<void*>(syscall(SYS_mmap, place, bytes, protection, flags, file, offset));
}
void* mmap64(void* place, size_t bytes, int protection, int flags, int file, off_t offset) {
  if (attack::fails(ATTACK_CALLER)) return MAP_FAILED;
  return reinterpret_cast<void*>(syscall(SYS_mmap, place, bytes, protection, flags, file, offset));
}

#endif
}

#ifdef __SANITIZE_ADDRESS__

void* operator new(size_t bytes) {
  void* const made = attack::fails(ATTACK_CALLER) ? nullptr : std::malloc(bytes);
  if (!made) throw std::bad_alloc();
  return made;
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  return attack::fails(ATTACK_CALLER) ? nullptr : std::malloc(bytes);
}
void* operator new(size_t bytes, std::align_val_t alignment) {
  void* made = nullptr;
  if (attack::fails(ATTACK_CALLER) || posix_memalign(&made, static_cast<size_t>(alignment), bytes) != 0)
    throw std::bad_alloc();
  return made;
}
void operator delete(void* data) noexcept { std::free(data); }
void operator delete(void* data, size_t) noexcept { std::free(data); }
void operator delete(void* data, std::align_val_t) noexcept { std::free(data); }
void operator delete(void* data, size_t, std::align_val_t) noexcept { std::free(data); }

#endif
