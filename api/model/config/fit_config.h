#pragma once

#include <vector>

#include <nyala/api/base/output.h>
#include <nyala/api/callbacks/base/callback.h>
#include <nyala/api/model/config/class_weight.h>
#include <nyala/api/model/config/data_argument.h>
#include <nyala/api/model/config/per_output.h>

namespace nyala {

/// What fit takes besides x and y, in Keras' order. 0 where Keras has None.
struct FitConfig {
  int64_t batch_size = 0;  // 32; must stay 0 with a Dataset
  int epochs = 1;
  int verbose = kVerboseAuto;
  std::vector<CallbackArgument> callbacks = {};
  double validation_split = 0.0;
  DataArgument validation_data = {};
  bool shuffle = true;
  ClassWeight class_weight = {};
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
  /// Not in Keras: compute what the frozen layers in front give for a row once, when the row is first seen,
  /// and train the rest of the model on that. The numbers are those of a fit without it. For data whose rows
  /// come again: augmentation belongs into layers behind the frozen ones, or does not go with this. Throws
  /// InvalidArgumentError where the model or the data have nothing to keep. See docs/fine_tuning.md.
  bool cache_frozen_features = false;
};

struct EvaluateConfig {
  int64_t batch_size = 0;
  int verbose = kVerboseAuto;
  PerOutput<Tensor> sample_weight = {};
  int64_t steps = 0;
  std::vector<CallbackArgument> callbacks = {};
  /// Not in Keras: compute convolutions and dense layers with the BatchNormalization behind them as one, with
  /// weights made for it (see PredictConfig).
  bool fold_batch_normalization = true;
};

struct PredictConfig {
  int64_t batch_size = 0;
  int verbose = kVerboseAuto;
  int64_t steps = 0;
  std::vector<CallbackArgument> callbacks = {};
  /// Not in Keras: in functional and Sequential models, compute layers with kernels, the BatchNormalization
  /// behind them, additions and activations as one. Outputs differ by rounding (about 1e-6 relative in
  /// float32). Costs the memory of the folded layers' weights once more, until the model trains again.
  bool fold_batch_normalization = true;
};

}  // namespace nyala
