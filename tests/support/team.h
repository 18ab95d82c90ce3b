#pragma once

#include <nyala/backend/runtime/context.h>

namespace nyala {

/// Gives this thread a team of `threads` for as long as it lives. Under the thread sanitizer, which does not
/// see libgomp's barriers, always of one.
class TestTeam {
 public:
  explicit TestTeam(int threads)
      : threads_(detail::thread_context().compute_threads, kSeesBarriers ? threads : 1) {}

 private:
#ifdef __SANITIZE_THREAD__
  static constexpr bool kSeesBarriers = false;
#else
  static constexpr bool kSeesBarriers = true;
#endif
  ScopedValue<int> threads_;
};

}  // namespace nyala
