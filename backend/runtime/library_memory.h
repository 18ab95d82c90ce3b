#pragma once

#include <cstddef>

namespace nyala {

/// Some libraries do not look whether they were given memory, and write there, or end the process. After this
/// the calls of a loaded library for malloc, calloc, realloc, strdup, posix_memalign, mmap and operator new
/// give a reserve of ours back to the system where they fail, and try once more. `library` is the beginning
/// of its file's name ("libdnnl.so"). It changes where that library looks these functions up, for all who use
/// it in this process; nothing where there is no such library (it is a static one). Thread-safe, never
/// throws.
void guard_library_memory(const char* library) noexcept;

/// What a loaded library makes from now on for the rest of the process is not destroyed at its end, where
/// functions of atexit() and static objects of the program may still use the library. Found and changed as
/// by guard_library_memory(). Thread-safe, never throws.
void keep_library_objects(const char* library) noexcept;

inline constexpr size_t kMemoryReserve = size_t{4} << 20;

/// Fills the reserve up again; to be called before such a library is entered. False where there is no memory
/// for it. Thread-safe, never throws.
bool fill_memory_reserve() noexcept;

}  // namespace nyala
