#pragma once

#include <cstdint>

namespace nyala::detail {

/// A part of a synchronous step's batch, which one worker trains.
struct StepPiece {
  static constexpr int kMost = 4096;

  uint64_t id = 0;      ///< of the step, counted over the job; 0: none
  int64_t attempt = 0;  ///< how often the step was begun again
  int piece = 0;
  int pieces = 0;    ///< of that attempt
  int64_t part = 0;  ///< which of the step's changes, where it makes several

  friend bool operator==(const StepPiece& a, const StepPiece& b) = default;
};

}  // namespace nyala::detail
