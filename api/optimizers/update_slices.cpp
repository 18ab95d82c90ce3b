#include <nyala/api/optimizers/update_slices.h>

#include <exception>
#include <mutex>

namespace nyala {

void for_slices(const UpdatePlace& place, const std::function<void(int)>& body) {
  if (!place.parallel) {
    for (int slice = 0; slice < place.num_slices; ++slice) body(slice);
    return;
  }
  std::mutex mutex;
  std::exception_ptr error;
  struct Guard {
    const std::function<void(int)>& body;
    std::mutex& mutex;
    std::exception_ptr& error;
  } guard{body, mutex, error};
  place.parallel(place.num_slices, [&guard](int slice) {
    try {
      guard.body(slice);
    } catch (...) {
      std::lock_guard lock(guard.mutex);
      if (!guard.error) guard.error = std::current_exception();
    }
  });
  if (error) std::rethrow_exception(error);
}

}  // namespace nyala
