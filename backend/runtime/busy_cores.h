#pragma once

namespace nyala {

/// To be called before a team of `team` OpenMP threads works (prepare_team() does). libgomp's idle threads
/// spin for some 10 ms before they block; on cores that others use, too, they burn the time that the work of
/// their own team needs. So this looks, at most every few milliseconds, how long the team's threads had to
/// wait for a core, and lets the idle threads of this process block at once while they wait much and spin
/// again when they do not. No number depends on it. Does nothing where the user chose (GOMP_SPINCOUNT,
/// OMP_WAIT_POLICY) or the system does not tell (/proc/thread-self/schedstat). Thread-safe, never throws.
void watch_busy_cores(int team) noexcept;

/// Whether idle OpenMP threads block at once, as watch_busy_cores found best.
bool idle_threads_block();

}  // namespace nyala
