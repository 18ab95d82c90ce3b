#pragma once

#include <cstdint>
#include <exception>

#include <nyala/backend/runtime/thread_team.h>

namespace nyala {

/// Below this much work (in elementary operations) a parallel region costs more than it saves.
inline constexpr int64_t kParallelGrain = 32768;

/// Calls body(begin, end) on pieces of [0, count) that depend on count and `grain` alone, never on the number
/// of threads, so that sums by piece have the same bits everywhere. Throws what a piece throws, one of them
/// where several do, after all have ended.
template <class Body>
void parallel_for(int64_t count, int64_t grain, Body&& body) {
  if (count <= 0) return;
  const int64_t pieces = (count + grain - 1) / grain;
  if (pieces == 1) {
    body(int64_t{0}, count);
    return;
  }
  const int team = compute_threads();
  if (team == 1) {
    for (int64_t piece = 0; piece < pieces; ++piece)
      body(piece * grain, piece + 1 == pieces ? count : (piece + 1) * grain);
    return;
  }
  prepare_team(team);
  std::exception_ptr error;
#pragma omp parallel for schedule(static) num_threads(team)
  for (int64_t piece = 0; piece < pieces; ++piece) {
    try {
      body(piece * grain, piece + 1 == pieces ? count : (piece + 1) * grain);
    } catch (...) {
#pragma omp critical(nyala_parallel_for)
      error = std::current_exception();
    }
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace nyala
