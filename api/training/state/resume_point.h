#pragma once

#include <cstdint>

namespace nyala {

/// What training goes on with besides weights, optimizer and sums; checkpoints hold it.
struct ResumePoint {
  int64_t train_step = 0;     // counts training steps since the model was made: keys of random numbers
  uint64_t shuffle_seed = 0;  // of arrays given to fit
  /// Where fit goes on after a restored backup: set by BackupAndRestore in on_train_begin, taken by fit.
  int epoch = -1;
  int64_t batch = 0;
  int resumed = -1;  // the epoch with which this fit went on after a restored backup; -1: with none
};

}  // namespace nyala
