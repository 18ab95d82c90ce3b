#pragma once

#include <cstddef>
#include <mutex>

#include <nyala/backend/core/mutex.h>

namespace nyala {

/// What tensors on the host leave to everything else, such as libraries that cannot fail kindly.
inline constexpr size_t kHostMargin = size_t{16} << 20;

/// Whether the system would give the process `bytes` more. Touches none of them.
bool has_room(size_t bytes) noexcept;

/// Proof that the host has room for what is done while this lives: no device of the host takes memory from
/// the system meanwhile. It is what oneDNN and libgomp need, which crash and exit where they get none. It
/// costs some microseconds: for what happens once, never in a warm step. At most one at a time on a thread.
class ProvenRoom {
 public:
  /// Gives back what the host's devices have cached where that helps. Throws OutOfMemoryError with `what`
  /// ("a primitive of oneDNN") where it does not.
  ProvenRoom(size_t bytes, const char* what);

 private:
  std::unique_lock<Mutex> growth_;
};

/// Whoever takes memory for tensors from the host's system holds it, and ProvenRoom.
Mutex& host_growth();

}  // namespace nyala
