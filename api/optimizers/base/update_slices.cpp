#include <nyala/api/optimizers/base/update_slices.h>

#include <nyala/backend/core/caught_error.h>

namespace nyala {

void detail::for_slices(const UpdatePlace& place, const std::function<void(int)>& body) {
  if (!place.parallel) {
    for (int slice = 0; slice < place.num_slices; ++slice) body(slice);
    return;
  }
  struct Guard {
    const std::function<void(int)>& body;
    CaughtError error = {};
  } guard{body};
  place.parallel(place.num_slices, [&guard](int slice) {
    try {
      guard.body(slice);
    } catch (...) {
      guard.error.keep();
    }
  });
  guard.error.rethrow();
}

}  // namespace nyala
