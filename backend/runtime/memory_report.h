#pragma once

#include <cstddef>
#include <new>
#include <string>
#include <vector>

namespace nyala {

/// "1.5 GiB", "12.0 KiB", "300 bytes".
std::string readable_bytes(size_t bytes);

struct AllocatorStats;

/// "3.2 GiB are in use by tensors (the largest: 800.0 MiB, 2 of 400.0 MiB), 0 bytes are cached".
std::string memory_text(const AllocatorStats& stats, const std::vector<size_t>& largest);

/// Gives everything that the allocators of the host's devices have cached back to the system. Allocates
/// nothing.
void release_cached_host_memory() noexcept;

/// memory_text() of all devices of the host.
std::string host_memory_in_use();

/// Inside a catch block for std::bad_alloc: throws OutOfMemoryError that says `where` and what is in use.
[[noreturn]] void throw_for_bad_alloc(const char* where);

/// body(), where a std::bad_alloc becomes an OutOfMemoryError that says `where` ("fit").
template <class Body>
decltype(auto) with_memory_errors(const char* where, Body&& body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    throw_for_bad_alloc(where);
  }
}

}  // namespace nyala
