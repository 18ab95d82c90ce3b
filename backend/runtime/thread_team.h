#pragma once

#include <system_error>
#include <thread>
#include <utility>

namespace nyala {

/// The OpenMP team size of the calling thread.
int compute_threads();

/// To be called before a team of `team` OpenMP threads is made, on the thread that makes it. libgomp ends the
/// process where the system has no room for a thread, so a thread's first team, and each larger one, is tried
/// with threads of our own first. Throws OutOfMemoryError where there is no room. Then watch_busy_cores().
void prepare_team(int team);

/// Only the trial, for teams that are not to be watched.
void prove_team(int team);

namespace detail {

[[noreturn]] void throw_no_room_for_threads(int count);

}  // namespace detail

/// A running thread. Throws OutOfMemoryError, not std::system_error, where the system has no room for one.
template <class Body>
std::thread start_thread(Body&& body) {
  try {
    return std::thread(std::forward<Body>(body));
  } catch (const std::system_error&) {
    detail::throw_no_room_for_threads(1);
  }
}

}  // namespace nyala
