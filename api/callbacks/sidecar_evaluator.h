#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <nyala/api/base/no_such_field.h>
#include <nyala/api/model/model.h>

namespace nyala {

struct SidecarEvaluatorConfig {
  /// Batches of an evaluation; 0: all.
  int64_t steps = 0;
  /// start() returns after the evaluation of a checkpoint of this number or a higher one; 0: never.
  int64_t max_evaluations = 0;
  std::vector<CallbackArgument> callbacks = {};
  /// Not in Keras: start() throws TimeoutError when no new checkpoint comes for so long; 0: it waits on.
  std::chrono::milliseconds timeout = std::chrono::milliseconds(0);
};

/// Evaluates the checkpoints that a training leaves in a folder, in a process of its own beside it
/// (tf.keras.utils.SidecarEvaluator), so that the workers need no validation data. Checkpoints are files
/// "ckpt-<number>.weights.h5" and "ckpt-<number>.keras", as
/// `ModelCheckpoint("folder/ckpt-{epoch}.weights.h5", {.save_weights_only = true})` writes them. It always
/// takes the one with the highest number: while it evaluates others may come and be left out.
class SidecarEvaluator {
 public:
  using Config = SidecarEvaluatorConfig;
  /// The model is built and compiled as the one that trains. Throws InvalidArgumentError for no data and for
  /// negative numbers.
  SidecarEvaluator(Model model, DataArgument data, std::string checkpoint_dir, Config config = {});
  template <size_t N>
  SidecarEvaluator(Model, DataArgument, std::string, const NoSuchField (&)[N]) = delete;

  /// Waits for checkpoints and evaluates them, with a line of metrics each. Returns the metrics of the last
  /// one. Logs a warning every 30 seconds without a new one. Throws what load_weights and evaluate throw; a
  /// checkpoint that is removed before it is read is left out.
  Logs start();

 private:
  Model model_;
  DataArgument data_;
  std::string checkpoint_dir_;
  Config config_;
};

}  // namespace nyala
