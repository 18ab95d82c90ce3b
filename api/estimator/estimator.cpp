#include <nyala/api/estimator/estimator.h>

#include <algorithm>

#include <nyala/api/estimator/checkpoint_saver.h>
#include <nyala/api/saving/checkpoint.h>
#include <nyala/api/saving/weights/weights_file.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/files/base/file_errors.h>

namespace nyala {

using namespace nyala::detail;

namespace {

EstimatorConfig checked(EstimatorConfig config) {
  if (config.model_dir.empty())
    throw InvalidArgumentError("Estimator: expected the path of a folder as model_dir, received none");
  (void)checked_path(config.model_dir);
  if (config.save_checkpoints_steps < 0 || config.keep_checkpoint_max < 0)
    throw InvalidArgumentError(
        "Estimator: save_checkpoints_steps and keep_checkpoint_max cannot be negative");
  return config;
}

/// For a model that the strategy adopts, outside of its scope.
EstimatorConfig without_strategy(EstimatorConfig config) {
  config.strategy.reset();
  return config;
}

void check_data(const InputFn& input_fn, const std::string& who) {
  if (!input_fn)
    throw InvalidArgumentError("Estimator::" + who + ": expected a function that makes the data");
}

}  // namespace

Estimator::Estimator(ModelFn model_fn, Config config)
    : model_fn_(std::move(model_fn)),
      config_(checked(std::move(config))),
      folder_(config_.model_dir, config_.keep_checkpoint_max) {
  if (!model_fn_) throw InvalidArgumentError("Estimator: expected a function that makes the model");
}

Estimator::Estimator(const Model& model, Config config)
    : Estimator([model, strategy = config.strategy] { return strategy ? strategy->adopt(model) : model; },
                without_strategy(config)) {}

const Model& Estimator::model() {
  if (model_) return model_;
  const Model made = config_.strategy ? config_.strategy->scope([&] { return model_fn_(); }) : model_fn_();
  if (!made.compiled())
    throw StateError("Estimator: model " + in_quotes(made.name()) + " is not compiled; model_fn compiles it");
  check_built(made, "Estimator");
  model_ = made;
  return model_;
}

void Estimator::restore(const std::string& checkpoint_path) {
  const std::string path = checkpoint_path.empty() ? folder_.latest() : checkpoint_path;
  if (path.empty())
    throw NotFoundError("Estimator: there is no checkpoint in " + in_quotes(model_dir()) +
                        "; train() makes one");
  Checkpoint(model()).restore(path);
}

void Estimator::train(const InputFn& input_fn, const EstimatorTrainConfig& config) {
  check_data(input_fn, "train");
  if (config.steps < 0 || config.max_steps < 0 || (config.steps > 0 && config.max_steps > 0))
    throw InvalidArgumentError("Estimator::train: expected steps or max_steps, above 0, received " +
                               std::to_string(config.steps) + " and " + std::to_string(config.max_steps));
  if (folder_.latest().empty())
    folder_.save(model());
  else
    restore("");
  const int64_t begun = model().optimizer().iterations();
  const int64_t last = config.steps > 0 ? begun + config.steps : config.max_steps;
  if (last > 0 && begun >= last) {
    log(LogChannel::info, "Estimator: " + in_quotes(model_dir()) + " has " + std::to_string(begun) +
                              " steps, which is all of them");
    return;
  }
  const Dataset data = input_fn();
  // In front, so that the others find the checkpoint of a step.
  std::vector<CallbackArgument> callbacks = {CheckpointSaver(folder_, config_.save_checkpoints_steps, last)};
  callbacks.insert(callbacks.end(), config.callbacks.begin(), config.callbacks.end());
  const bool is_endless = data.cardinality() == kInfiniteCardinality;
  if (is_endless && last == 0)
    throw InvalidArgumentError("Estimator::train: data without an end need steps or max_steps");
  model().fit(data, {.callbacks = callbacks, .steps_per_epoch = is_endless ? last - begun : 0});
}

Logs Estimator::evaluate(const InputFn& input_fn, const EstimatorEvaluateConfig& config) {
  check_data(input_fn, "evaluate");
  restore(config.checkpoint_path);
  Logs logs = model().evaluate(input_fn(), {.steps = config.steps});
  logs.set("global_step", static_cast<double>(model().optimizer().iterations()));
  return logs;
}

Tensors Estimator::predict(const InputFn& input_fn, const std::string& checkpoint_path) {
  check_data(input_fn, "predict");
  restore(checkpoint_path);
  return model().predict_all(input_fn());
}

std::vector<std::string> Estimator::get_variable_names() {
  std::vector<std::string> names;
  for (const Variable& variable : model().weights()) names.push_back(variable.path());
  return names;
}

Tensor Estimator::get_variable_value(const std::string& name) {
  restore("");
  for (const Variable& variable : model().weights())
    if (variable.path() == name) return variable.value().clone();
  throw NotFoundError("Estimator: the model has no variable " + in_quotes(name) +
                      did_you_mean(name, get_variable_names()));
}

}  // namespace nyala
