#pragma once

#include <compare>
#include <cstdint>

namespace nyala {

/// Where training stands: what a checkpoint holds besides weights and optimizer state.
struct TrainingPosition {
  int epoch = 0;      // to go on with
  int64_t batch = 0;  // batches of that epoch that are done
  friend auto operator<=>(const TrainingPosition&, const TrainingPosition&) = default;
};

}  // namespace nyala
