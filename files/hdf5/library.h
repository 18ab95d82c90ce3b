#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

#include <nyala/backend/core/mutex.h>

namespace nyala::hdf5 {

/// libhdf5's hid_t and herr_t, so that this header needs none of its own.
using Id = int64_t;

/// Exclusive use of libhdf5, which is not safe for threads, by Nyala. Silences its error printing meanwhile
/// and restores the settings of the host program afterwards.
class LibraryLock {
 public:
  enum class Room { is_proven, is_not_needed };
  /// libhdf5 ends the process where it finds no memory for its own small things. Throws OutOfMemoryError where
  /// there is no room for them; to close what is open none is needed.
  explicit LibraryLock(Room room = Room::is_proven);
  ~LibraryLock();
  LibraryLock(const LibraryLock&) = delete;
  LibraryLock& operator=(const LibraryLock&) = delete;

 private:
  std::unique_lock<RecursiveMutex> lock_;
  void* client_data_ = nullptr;
  int (*print_)(Id, void*) = nullptr;
};

/// Owns one identifier of libhdf5.
class Handle {
 public:
  using Close = int (*)(Id);

  Handle() = default;
  /// Throws Error with libhdf5's own reason, saying that `what` failed, if `id` is negative.
  Handle(Id id, Close close, const std::string& what);
  ~Handle() { reset(); }
  Handle(Handle&& other) noexcept;
  Handle& operator=(Handle&& other) noexcept;

  operator Id() const { return id_; }
  void reset();

 private:
  Id id_ = -1;
  Close close_ = nullptr;
};

/// Throws Error with libhdf5's own reason, saying that `what` failed, if `result` is negative; OutOfMemoryError
/// where that is memory.
void check_call(int result, const std::string& what);

}  // namespace nyala::hdf5
