// The addresses that a library calls for malloc and its like stand in its global offset table; its
// relocations (ELF, DT_JMPREL and DT_RELA, found by dl_iterate_phdr) say where. Ours are written there.
// Interposing by name would change the functions for the whole process.
#include <nyala/backend/runtime/library_memory.h>

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <span>
#include <string_view>

#if defined(__linux__) && defined(__x86_64__) && defined(__GLIBC__)
#include <link.h>
#endif

namespace nyala {

namespace {

std::atomic<void*> g_reserve{nullptr};

void give_reserve_back() {
  if (void* const reserve = g_reserve.exchange(nullptr)) munmap(reserve, kMemoryReserve);
}

#if defined(__linux__) && defined(__x86_64__) && defined(__GLIBC__)

/// attempt(), and once more with the reserve given back where it found no memory.
template <class Attempt>
void* twice(const Attempt& attempt) {
  void* const data = attempt();
  if (data) return data;
  give_reserve_back();
  return attempt();
}

void* guarded_malloc(size_t bytes) {
  return bytes == 0 ? std::malloc(0) : twice([&] { return std::malloc(bytes); });
}

void* guarded_calloc(size_t count, size_t bytes) {
  return count == 0 || bytes == 0 ? std::calloc(count, bytes)
                                  : twice([&] { return std::calloc(count, bytes); });
}

void* guarded_realloc(void* data, size_t bytes) {
  return bytes == 0 ? std::realloc(data, 0) : twice([&] { return std::realloc(data, bytes); });
}

char* guarded_strdup(const char* text) {
  return static_cast<char*>(twice([&]() -> void* { return strdup(text); }));
}

int guarded_posix_memalign(void** data, size_t alignment, size_t bytes) {
  const int status = posix_memalign(data, alignment, bytes);
  if (status != ENOMEM) return status;
  give_reserve_back();
  return posix_memalign(data, alignment, bytes);
}

// Also where it would throw: some of oneDNN's code is made inside of teams, which no exception may leave.
void* guarded_new(size_t bytes) {
  if (void* const data = ::operator new(bytes, std::nothrow)) return data;
  give_reserve_back();
  return ::operator new(bytes);
}

void* guarded_mmap(void* place, size_t bytes, int protection, int flags, int file, off_t offset) {
  void* const data = mmap(place, bytes, protection, flags, file, offset);
  if (data != MAP_FAILED || errno != ENOMEM) return data;
  give_reserve_back();
  return mmap(place, bytes, protection, flags, file, offset);
}

int destroy_never(void (*)(void*), void*, void*) { return 0; }

struct Replacement {
  std::string_view name;
  void* function;
};

const Replacement kGuarded[] = {{"malloc", reinterpret_cast<void*>(guarded_malloc)},
                                {"calloc", reinterpret_cast<void*>(guarded_calloc)},
                                {"realloc", reinterpret_cast<void*>(guarded_realloc)},
                                {"strdup", reinterpret_cast<void*>(guarded_strdup)},
                                {"__strdup", reinterpret_cast<void*>(guarded_strdup)},
                                {"posix_memalign", reinterpret_cast<void*>(guarded_posix_memalign)},
                                {"_Znwm", reinterpret_cast<void*>(guarded_new)},
                                {"mmap", reinterpret_cast<void*>(guarded_mmap)},
                                {"mmap64", reinterpret_cast<void*>(guarded_mmap)}};

const Replacement kKept[] = {{"__cxa_atexit", reinterpret_cast<void*>(destroy_never)}};

struct Part {
  uintptr_t begin = 0, end = 0;
  bool holds(uintptr_t address) const { return address >= begin && address < end; }
};

/// What a loaded library's dynamic section says about the functions that it calls.
struct Calls {
  const char* names = nullptr;
  const ElfW(Sym) * symbols = nullptr;
  Part by_name, at_once;  // ElfW(Rela) of functions and of everything else
  Part protected_again;   // read-only since it was loaded
};

Calls calls_of(const dl_phdr_info& library) {
  Calls calls;
  const ElfW(Dyn)* entry = nullptr;
  for (int i = 0; i < library.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = library.dlpi_phdr[i];
    const uintptr_t begin = library.dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_DYNAMIC) entry = reinterpret_cast<const ElfW(Dyn)*>(begin);
    if (header.p_type == PT_GNU_RELRO) calls.protected_again = {begin, begin + header.p_memsz};
  }
  uintptr_t by_name_size = 0, at_once_size = 0;
  for (; entry && entry->d_tag != DT_NULL; ++entry) {
    const uintptr_t value = entry->d_un.d_ptr;
    if (entry->d_tag == DT_STRTAB) calls.names = reinterpret_cast<const char*>(value);
    if (entry->d_tag == DT_SYMTAB) calls.symbols = reinterpret_cast<const ElfW(Sym)*>(value);
    if (entry->d_tag == DT_JMPREL) calls.by_name.begin = value;
    if (entry->d_tag == DT_RELA) calls.at_once.begin = value;
    if (entry->d_tag == DT_PLTRELSZ) by_name_size = value;
    if (entry->d_tag == DT_RELASZ) at_once_size = value;
  }
  calls.by_name.end = calls.by_name.begin + by_name_size;
  calls.at_once.end = calls.at_once.begin + at_once_size;
  return calls;
}

void replace(const Calls& calls, uintptr_t slot, void* function) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  void* const start = reinterpret_cast<void*>(slot / page * page);
  if (mprotect(start, page, PROT_READ | PROT_WRITE) != 0) return;
  reinterpret_cast<std::atomic<void*>*>(slot)->store(function);
  if (calls.protected_again.holds(slot)) mprotect(start, page, PROT_READ);
}

struct Wanted {
  const char* library;
  std::span<const Replacement> replacements;
};

int replace_calls(dl_phdr_info* library, size_t, void* given) {
  const auto& wanted = *static_cast<const Wanted*>(given);
  const char* const slash = std::strrchr(library->dlpi_name, '/');
  const std::string_view file(slash ? slash + 1 : library->dlpi_name);
  if (!file.starts_with(wanted.library)) return 0;
  const Calls calls = calls_of(*library);
  if (!calls.names || !calls.symbols) return 0;
  for (const Part& part : {calls.by_name, calls.at_once})
    for (auto at = part.begin; at < part.end; at += sizeof(ElfW(Rela))) {
      const auto& place = *reinterpret_cast<const ElfW(Rela)*>(at);
      const auto kind = ELF64_R_TYPE(place.r_info);
      if (kind != R_X86_64_JUMP_SLOT && kind != R_X86_64_GLOB_DAT) continue;
      const std::string_view name = calls.names + calls.symbols[ELF64_R_SYM(place.r_info)].st_name;
      for (const Replacement& one : wanted.replacements)
        if (name == one.name) replace(calls, library->dlpi_addr + place.r_offset, one.function);
    }
  return 0;
}

void replace_calls(Wanted wanted) { dl_iterate_phdr(replace_calls, &wanted); }

#endif

}  // namespace

#if defined(__linux__) && defined(__x86_64__) && defined(__GLIBC__)

void guard_library_memory(const char* library) noexcept { replace_calls({library, kGuarded}); }
void keep_library_objects(const char* library) noexcept { replace_calls({library, kKept}); }

#else

void guard_library_memory(const char*) noexcept {}
void keep_library_objects(const char*) noexcept {}

#endif

bool fill_memory_reserve() noexcept {
  if (g_reserve.load(std::memory_order_relaxed)) return true;
  void* const fresh =
      mmap(nullptr, kMemoryReserve, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (fresh == MAP_FAILED) return false;
  void* none = nullptr;
  if (!g_reserve.compare_exchange_strong(none, fresh)) munmap(fresh, kMemoryReserve);
  return true;
}

}  // namespace nyala
