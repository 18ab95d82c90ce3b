#pragma once

#include <utility>
#include <vector>

#include <nyala/api/callbacks/base/callback.h>

namespace nyala {

/// A callback that keeps something from epoch to epoch. In a process that was started again in the middle of
/// the others' training it is told what they have seen.
class TakesOver {
 public:
  virtual ~TakesOver() = default;
  /// `finished`: the epochs that are done, and their logs. Called after on_train_begin, before the next
  /// epoch.
  virtual void take_over(const std::vector<std::pair<int, Logs>>& finished) = 0;
};

}  // namespace nyala
