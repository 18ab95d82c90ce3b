#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <nyala/api/base/no_such_field.h>
#include <nyala/api/estimator/checkpoint_folder.h>
#include <nyala/api/model/model.h>
#include <nyala/datasets/base/dataset.h>
#include <nyala/strategies/strategy_handle.h>

namespace nyala {

/// Makes the data of one training, evaluation or prediction, from their beginning.
using InputFn = std::function<Dataset()>;

struct EstimatorConfig {
  /// Where checkpoints lie; made when the first is written.
  std::string model_dir = {};
  /// In whose scope model_fn runs. None: that of the model or of the scope that is open.
  std::optional<Strategy> strategy = {};
  /// Steps between two checkpoints, beside those at the beginning and the end of train(); 0: those alone.
  int64_t save_checkpoints_steps = 0;
  /// How many checkpoints stay, the newest; 0: all.
  int64_t keep_checkpoint_max = 5;
};

struct EstimatorTrainConfig {
  /// How many steps more; 0: to the end of the data.
  int64_t steps = 0;
  /// The step at which training ends, counted over all trainings in model_dir; not together with `steps`.
  int64_t max_steps = 0;
  std::vector<CallbackArgument> callbacks = {};
};

struct EstimatorEvaluateConfig {
  int64_t steps = 0;                 // 0: to the end of the data
  std::string checkpoint_path = {};  // empty: the newest in model_dir
};

/// TensorFlow's tf.estimator.Estimator on top of fit and Checkpoint: a model whose state lies in a folder.
/// train() goes on from the newest checkpoint there, whoever wrote it, and leaves one at its end; evaluate()
/// and predict() read one. So a program that is killed and started again goes on where its last checkpoint
/// was.
///
///     Estimator lenet(make_lenet, {.model_dir = "lenet", .strategy = MirroredStrategy(),
///                                  .save_checkpoints_steps = 500});
///     lenet.train([] { return mnist_batches(); }, {.max_steps = 5000});
///     const Logs logs = lenet.evaluate([] { return test_batches(); });  // loss, metrics, global_step
///
/// The model is compiled and built (it begins with an Input). All calls from one thread.
class Estimator {
 public:
  using Config = EstimatorConfig;
  using ModelFn = std::function<Model()>;
  /// `model_fn` makes the compiled model, inside the strategy's scope, when it is needed first. Throws
  /// InvalidArgumentError without model_dir and for numbers below 0.
  Estimator(ModelFn model_fn, Config config);
  /// Of a compiled model (tf.keras.estimator.model_to_estimator), which `strategy` adopts if it is given.
  Estimator(const Model& model, Config config);
  template <size_t N>
  Estimator(ModelFn, const NoSuchField (&)[N]) = delete;
  template <size_t N>
  Estimator(const Model&, const NoSuchField (&)[N]) = delete;

  /// Data that end before the steps are done end the training. Throws InvalidArgumentError for `steps` and
  /// `max_steps` together, StateError for a model that is not compiled or not built, and what Checkpoint and
  /// fit throw.
  void train(const InputFn& input_fn, const EstimatorTrainConfig& config = {});
  /// Loss and metrics, and "global_step", the checkpoint's. Throws NotFoundError where there is none.
  Logs evaluate(const InputFn& input_fn, const EstimatorEvaluateConfig& config = {});
  /// The outputs for all rows of the data, by the newest checkpoint or that of `checkpoint_path`.
  Tensors predict(const InputFn& input_fn, const std::string& checkpoint_path = {});

  const std::string& model_dir() const { return folder_.path(); }
  /// Its path, empty where there is none.
  std::string latest_checkpoint() const { return folder_.latest(); }
  /// The variables of the model, by path, and a value of the newest checkpoint. Throws NotFoundError for
  /// another name, or without a checkpoint.
  std::vector<std::string> get_variable_names();
  Tensor get_variable_value(const std::string& name);
  /// The model with the state that the last call left in it.
  const Model& model();

 private:
  void restore(const std::string& checkpoint_path);

  ModelFn model_fn_;
  Config config_;
  CheckpointFolder folder_;
  Model model_;
};

}  // namespace nyala
