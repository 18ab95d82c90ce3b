#include <nyala/backend/runtime/idle_threads.h>

#include <algorithm>

namespace nyala {

IdleThreads& IdleThreads::instance() {
  static IdleThreads* const one =
      new IdleThreads;  // threads may ask while static objects are being destroyed
  return *one;
}

void IdleThreads::hear(double share_waited, int team, Clock::time_point now) {
  std::lock_guard lock(mutex_);
  if (!crowd_.is_there()) {
    if (share_waited < kMuch) return;
    // Where blocking makes the cores look free, they are tried less and less often.
    patience_ = now - left_ < 8 * patience_ ? std::min(2 * patience_, kLongest) : kShortest;
    busy_ = now;
    crowd_.gather(team);
  } else if (share_waited > kLittle) {
    busy_ = now;
  } else if (now - busy_ > patience_) {
    left_ = now;
    crowd_.dismiss();
  }
}

}  // namespace nyala
