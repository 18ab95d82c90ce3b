#pragma once

#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

namespace nyala {

/// How many times fork() made this process, and those before it, since the program began: what was kept with
/// another number has threads that are not here.
uint32_t forks() noexcept;

/// The calling thread's number; no other thread has it, in none of the processes that fork() makes either.
uint64_t thread_number() noexcept;

/// Whether that thread stayed behind in the parent of this process.
bool lost_in_fork(uint64_t thread) noexcept;

/// What one thread has in the parent cannot be joined in the child: never destroyed there.
inline void leave_behind(std::vector<std::thread>& threads) {
  new std::vector<std::thread>(std::exchange(threads, {}));
}

}  // namespace nyala
