// A look sees some milliseconds, in which a quiet system's own work may take a whole core: only the mean of
// many looks tells that cores are shared (exponential smoothing). Two thresholds, so that it does not
// flicker: blocking begins where 15 % of the time was waited for cores and ends after a while below 5 %.
// Blocking itself makes cores look free, hence the while doubles, from 250 ms to 8 s, where it ended shortly
// before.
#include <nyala/backend/runtime/idle_threads.h>

#include <algorithm>

#include <nyala/backend/core/undying.h>

namespace nyala {

IdleThreads& IdleThreads::instance() {
  static const detail::Undying<IdleThreads> one;
  return *one;
}

void IdleThreads::begin(int team, Clock::time_point now) {
  std::lock_guard lock(mutex_);
  if (crowd_.is_there()) return;
  busy_ = now;
  crowd_.gather(team);
}

void IdleThreads::hear(double share_waited, int team, Clock::time_point now) {
  std::lock_guard lock(mutex_);
  share_waited_ += (share_waited - share_waited_) * kWeightOfALook;
  if (!crowd_.is_there()) {
    if (share_waited_ < kMuch) return;
    // Where blocking makes the cores look free, they are tried less and less often.
    patience_ = now - left_ < 8 * patience_ ? std::min(2 * patience_, kLongest) : kShortest;
    busy_ = now;
    crowd_.gather(team);
  } else if (share_waited_ > kLittle) {
    busy_ = now;
  } else if (now - busy_ > patience_) {
    left_ = now;
    crowd_.dismiss();
  }
}

}  // namespace nyala
