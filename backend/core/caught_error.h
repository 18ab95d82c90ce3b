#pragma once

#include <exception>
#include <string>

#include <nyala/backend/core/mutex.h>

namespace nyala {

/// The first exception of several threads, on its way to the thread that waits for them. It arrives with the
/// type it was thrown with. Thread-safe.
class CaughtError {
 public:
  /// Call inside a catch block. `place` goes in front of the text of Nyala's exceptions; of others it is what
  /// error_place() tells. Returns the text with the place; where there is no memory for texts, the exception
  /// is kept without a place and the text is empty.
  std::string keep(const std::string& place = {}) noexcept;
  bool caught() const;
  /// Throws what was kept, if anything, and forgets it.
  void rethrow();
  void forget();

 private:
  mutable Mutex mutex_;
  std::exception_ptr error_;
  std::string place_;
};

}  // namespace nyala
