#pragma once

#include <map>
#include <vector>

#include <nyala/api/callbacks/callback.h>
#include <nyala/api/training/data_argument.h>
#include <nyala/api/training/per_output.h>

namespace nyala {

/// Keras' verbose = "auto": a progress bar.
inline constexpr int kVerboseAuto = -1;

/// What fit takes besides x and y, in Keras' order. 0 where Keras has None.
struct FitConfig {
  int64_t batch_size = 0;  // 32; must stay 0 with a Dataset
  int epochs = 1;
  int verbose = kVerboseAuto;
  std::vector<CallbackArgument> callbacks = {};
  double validation_split = 0.0;
  DataArgument validation_data = {};
  bool shuffle = true;
  std::map<int64_t, double> class_weight = {};
  /// For all outputs, one per output in order, or by output name.
  PerOutput<Tensor> sample_weight = {};
  int initial_epoch = 0;
  int64_t steps_per_epoch = 0;
  int64_t validation_steps = 0;
  int64_t validation_batch_size = 0;
  /// Validate after every n-th epoch.
  int validation_freq = 1;
  /// Validate after exactly these epochs (counted from 1), instead.
  std::vector<int> validation_epochs = {};
};

struct EvaluateConfig {
  int64_t batch_size = 0;
  int verbose = kVerboseAuto;
  PerOutput<Tensor> sample_weight = {};
  int64_t steps = 0;
  std::vector<CallbackArgument> callbacks = {};
};

struct PredictConfig {
  int64_t batch_size = 0;
  int verbose = kVerboseAuto;
  int64_t steps = 0;
  std::vector<CallbackArgument> callbacks = {};
};

}  // namespace nyala
