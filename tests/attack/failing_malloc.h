#pragma once

#include <atomic>
#include <cstdint>

namespace attack {

/// Who called for the allocation that failed.
enum class Caller : uint8_t { nobody, somebody, libgomp, loader, onednn };

/// What the replaced malloc, calloc, realloc, posix_memalign, aligned_alloc, memalign and mmap know. With the
/// address sanitizer, which needs those for itself, operator new and Nyala's own aligned_alloc are replaced.
struct Allocations {
  std::atomic<bool> armed{false};
  std::atomic<uint64_t> count{0};       // since it is armed
  std::atomic<uint64_t> fail_at{0};     // the number of the one that fails; 0: none
  std::atomic<Caller>* failed = nullptr;  // is told who called for it
  void** trace = nullptr;                 // where from, kTrace addresses
  static constexpr int kTrace = 24;
};

Allocations& allocations();

/// Finds where the libraries lie whose failures are told apart. Before arming.
void find_libraries();

}  // namespace attack
