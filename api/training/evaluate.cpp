// The loops of evaluate() and predict(): a Feed gives batches, a Stepper works on them, callbacks see chunks
// of steps_per_execution batches. Also what fit() shares with them: weights and inputs brought to what a
// model takes.
#include <nyala/api/training/evaluate.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include <nyala/api/base/output.h>
#include <nyala/api/callbacks/base/progbar_logger.h>
#include <nyala/api/graph/fitted_input.h>
#include <nyala/api/model/input_dtype.h>
#include <nyala/api/optimizers/loss_scale_optimizer.h>
#include <nyala/api/training/among_processes.h>
#include <nyala/api/training/call_of_all.h>
#include <nyala/api/training/callback_list.h>
#include <nyala/api/training/check_status.h>
#include <nyala/api/training/compiled_facts.h>
#include <nyala/api/training/feed.h>
#include <nyala/api/training/model_training.h>
#include <nyala/api/training/model_use.h>
#include <nyala/api/training/optimizer_variables.h>
#include <nyala/api/training/resolve.h>
#include <nyala/api/training/served_optimizer.h>
#include <nyala/api/training/stepper.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/backend/ops/shape/concatenate.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/backend/runtime/memory_report.h>
#include <nyala/strategies/shared_key.h>

namespace nyala {

using namespace nyala::detail;

namespace {

std::vector<CallbackArgument> with_progress(std::vector<CallbackArgument> callbacks, int verbose) {
  if (verbose != 0) callbacks.emplace_back(ProgbarLogger());
  return callbacks;
}

int64_t steps_per_execution(const Model& model) {
  return model.compiled() ? model.model_node().compiled_training().config.steps_per_execution : 1;
}

/// The next batch, on all processes.
bool next(const Model& model, Feed& feed, Batch& batch) {
  return next_of_all(*model.model_node().strategy(), feed, batch) == NextBatch::comes;
}

/// Every process is given the whole batch.
void agree_on_rows(const Model& model, const Batch& batch) {
  StrategyNode& strategy = *model.model_node().strategy();
  if (strategy.processes())
    next_of_all(strategy, {.comes = true, .rows = num_rows(batch, "a batch"), .batch = &batch});
}

/// The first batch after compile() compares what the processes train with.
void compare_settings(ModelNode& model) {
  CompiledTraining& compiled = model.compiled_training();
  ProcessExchange* const processes = model.strategy()->processes();
  if (compiled.compared || !processes || processes->is_apart()) return;
  check_alike(processes, facts_of_batches(model), "train_on_batch");
  compiled.compared = true;
}

/// Works on `batch` and those after it until `count` are done or the data ends.
template <class Work>
void in_chunk(const Model& model, Feed& feed, Batch& batch, int64_t count, Work&& work) {
  for (int64_t done = 0;;) {
    work();
    if (++done == count || !next(model, feed, batch)) return;
  }
}

}  // namespace

CompiledTraining& compiled_training_of(const Model& model, const char* what) {
  if (!model.compiled())
    throw StateError("model " + in_quotes(model.name()) + ": call compile() before " + what + "()" +
                     why_no_loss(model.model_node()));
  return model.model_node().compiled_training();
}

void give_weights(DataArgument& data, const PerOutput<Tensor>& weights, const ModelNode& model,
                  const char* what) {
  if (weights.empty() || (weights.list().size() == 1 && !weights.list()[0].defined())) return;
  if (data.is_dataset())
    throw InvalidArgumentError(std::string(what) +
                               ": sample_weight belongs to arrays; put weights into the Dataset's elements");
  Element& arrays = data.arrays();
  if (weights.list().size() == 1) {
    arrays.sample_weight = weights.list()[0];
    return;
  }
  if (weights.list().size() > 1 && weights.list().size() != arrays.y.size())
    throw InvalidArgumentError(std::string(what) + ": expected one sample_weight, or " +
                               std::to_string(arrays.y.size()) + ", one per target, received " +
                               std::to_string(weights.list().size()));
  Tensors per_output = weights.list();
  per_output.resize(arrays.y.size());
  const std::vector<std::string> names = model.output_names(arrays.y.size());
  for (const auto& [name, tensor] : weights.named()) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
      throw InvalidArgumentError(std::string(what) + ": sample_weight for " + in_quotes(name) +
                                 ", but the model has no output of that name" + did_you_mean(name, names) +
                                 "; there are " + quoted_list(names));
    per_output.at(static_cast<size_t>(found - names.begin())) = tensor;
  }
  arrays.sample_weight = std::move(per_output);
}

void fit_inputs(DataArgument& data, const ModelNode& model) {
  if (data.is_dataset()) return;
  const Shapes expected = model.input_shapes();
  const Tensors& inputs = model.inputs();
  Tensors& x = data.arrays().x;
  naming_its_file(model, [&] {
    for (size_t i = 0; i < expected.size() && i < x.size(); ++i) {
      (void)fitted_input(x[i], expected[i], model.name(), i);
      if (i < inputs.size()) x[i] = with_narrowed_integers(x[i], inputs[i], {model.name(), i});
    }
  });
}

Logs evaluate_data(const Model& model, const DataArgument& given, const EvaluateConfig& config,
                   FeatureCache* cache) {
  compiled_training_of(model, "evaluate");
  DataArgument data = given;
  give_weights(data, config.sample_weight, model.model_node(), "evaluate");
  fit_inputs(data, model.model_node());
  Model handle = model;
  Feed feed(data, {.batch_size = config.batch_size,
                   .steps_per_epoch = config.steps,
                   .what = "evaluate",
                   .reads_for = cache ? nullptr : model.model_node().strategy().get()});
  const int verbose = resolved_verbosity(*model.model_node().strategy(), config.verbose);
  CallbackList callbacks(handle, with_progress(config.callbacks, verbose), {verbose, 1, feed.steps()});
  Stepper stepper(model.model_node());
  stepper.use(cache);
  stepper.set_given(data);
  stepper.set_fold_batch_normalization(config.fold_batch_normalization);
  Logs none;
  callbacks.call(&Callback::on_test_begin, none);
  stepper.reset();
  feed.begin_epoch(0);
  Batch batch;
  const int64_t count = steps_per_execution(model);
  int64_t step = 0;
  for (; next(model, feed, batch); step += count) {
    callbacks.call(&Callback::on_test_batch_begin, step, none);
    in_chunk(model, feed, batch, count, [&] { stepper.test(batch, feed.place()); });
    Logs running = Logs::of_now([&stepper](Logs& target) { target = stepper.logs(); });
    callbacks.call(&Callback::on_test_batch_end, step + count - 1, running);
  }
  if (step == 0) throw InvalidArgumentError("evaluate: the data has no batches");
  Logs logs = stepper.logs();
  stepper.check_status();
  callbacks.call(&Callback::on_test_end, logs);
  return logs;
}

namespace {

/// For a process that is started again: builds the model by the first batch.
void build_for(const Model& model, const DataArgument& data, const FeedConfig& config) {
  if (model.built()) return;
  Feed feed(data, config);
  Batch batch;
  feed.begin_epoch(0);
  if (feed.next(batch)) Stepper(model.model_node()).build_for(batch);
}

Tensors predict_here(const Model& model, DataArgument data, const PredictConfig& config) {
  const SharedUse use(model.model_node(), "predict");
  Model handle = model;
  fit_inputs(data, model.model_node());
  Feed feed(data, {.batch_size = config.batch_size,
                   .steps_per_epoch = config.steps,
                   .what = "predict",
                   .reads_for = model.model_node().strategy().get(),
                   .same_batches = true});
  const int verbose = resolved_verbosity(*model.model_node().strategy(), config.verbose);
  CallbackList callbacks(handle, with_progress(config.callbacks, verbose), {verbose, 1, feed.steps()});
  Stepper stepper(model.model_node());
  stepper.set_given(data);
  stepper.set_fold_batch_normalization(config.fold_batch_normalization);
  Logs none;
  callbacks.call(&Callback::on_predict_begin, none);
  feed.begin_epoch(0);
  std::vector<Tensors> parts;  // per output
  Batch batch;
  const int64_t count = steps_per_execution(model);
  for (int64_t step = 0; next(model, feed, batch); step += count) {
    callbacks.call(&Callback::on_predict_batch_begin, step, none);
    in_chunk(model, feed, batch, count, [&] {
      const Tensors outputs = stepper.predict(batch, feed.place());
      parts.resize(outputs.size());
      for (size_t i = 0; i < outputs.size(); ++i) parts[i].push_back(outputs[i]);
    });
    callbacks.call(&Callback::on_predict_batch_end, step + count - 1, none);
  }
  callbacks.call(&Callback::on_predict_end, none);
  Tensors outputs;
  for (const Tensors& part : parts) outputs.push_back(part.size() == 1 ? part[0] : ops::concatenate(part, 0));
  return outputs;
}

}  // namespace

Tensors predict_data(const Model& model, DataArgument data, const PredictConfig& config) {
  Tensors outputs;
  bool is_past = false;
  const auto pass_over = [&](ProcessGenerations& generations, int64_t number) {
    outputs = kept_outputs(generations, number);
    is_past = true;
  };
  const int64_t number =
      make_with_all(model, {.what = "predict",
                            .make = [&] { outputs = predict_here(model, data, config); },
                            .learn = [&] { build_for(model, data, {.batch_size = config.batch_size}); },
                            .pass_over = pass_over});
  if (number > 0 && !is_past) keep_outputs(*model.model_node().strategy()->generations(), number, outputs);
  return outputs;
}

namespace {

Tensor only(Tensors outputs, const Model& model) {
  if (outputs.empty()) throw InvalidArgumentError("predict: the data has no rows");
  if (outputs.size() > 1)
    throw StateError("model " + in_quotes(model.name()) + " has " + std::to_string(outputs.size()) +
                     " outputs, predict gives one: use predict_all({x}), whose result has them in order");
  return std::move(outputs[0]);
}

Batch batch_of(const Tensor& x, const Tensor& y, const Tensor& sample_weight) {
  Batch batch{.x = {x}, .y = {}, .sample_weight = sample_weight};
  if (y.defined()) batch.y = {y};
  return batch;
}

Logs evaluate_alone(const Model& model, const DataArgument& data, const EvaluateConfig& config) {
  return with_memory_errors("evaluate", [&] {
    const ExclusiveUse alone(model.model_node(), "evaluate", Writes::nothing);
    Logs logs;
    const auto pass_over = [&](ProcessGenerations& generations, int64_t number) {
      logs = kept_result(generations, number);
    };
    const int64_t number =
        make_with_all(model, {.what = "evaluate",
                              .make = [&] { logs = evaluate_data(model, data, config); },
                              .learn = [&] { build_for(model, data, {.batch_size = config.batch_size}); },
                              .pass_over = pass_over});
    if (number > 0) keep_result(*model.model_node().strategy()->generations(), number, logs);
    return logs;
  });
}

/// Loss and metrics of one step, not of those before it.
template <class Step>
Logs logs_of_step(const Model& model, const char* what, Writes writes, const Step& step) {
  return with_memory_errors(what, [&] {
    compiled_training_of(model, what);
    const ExclusiveUse alone(model.model_node(), what, writes);
    Stepper stepper(model.model_node());
    stepper.reset();
    step(stepper);
    return stepper.logs_of_now();
  });
}

}  // namespace

Logs Model::evaluate(const Tensor& x, const Tensor& y, const EvaluateConfig& config) const {
  return evaluate_alone(*this, DataArgument(x, y), config);
}

Logs Model::evaluate(const Tensors& x, const Tensors& y, const EvaluateConfig& config) const {
  return evaluate_alone(*this, DataArgument(x, y), config);
}

Logs Model::evaluate(const Arrays& arrays, const EvaluateConfig& config) const {
  return evaluate_alone(*this, arrays, config);
}

Logs Model::evaluate(const Dataset& batches, const EvaluateConfig& config) const {
  return evaluate_alone(*this, batches, config);
}

Tensor Model::predict(const Tensor& x, const PredictConfig& config) const {
  return with_memory_errors("predict",
                            [&] { return only(predict_data(*this, DataArgument(x), config), *this); });
}

Tensor Model::predict(const Dataset& batches, const PredictConfig& config) const {
  return with_memory_errors("predict", [&] { return only(predict_data(*this, batches, config), *this); });
}

Tensor Model::predict_one(const Tensors& x, const PredictConfig& config) const {
  return only(predict_all(x, config), *this);
}

Tensors Model::predict_all(const Tensors& x, const PredictConfig& config) const {
  return with_memory_errors("predict", [&] { return predict_data(*this, DataArgument(x, {}), config); });
}

Tensors Model::predict_all(const Dataset& batches, const PredictConfig& config) const {
  return with_memory_errors("predict", [&] { return predict_data(*this, batches, config); });
}

Logs Model::train_on_batch(const Batch& batch) const {
  return logs_of_step(*this, "train_on_batch", Writes::trained, [&](Stepper& stepper) {
    compare_settings(model_node());
    agree_on_rows(*this, batch);
    if (ParameterServerJob* const job = model_node().strategy()->parameter_server_job()) {
      stepper.learn_shapes(batch);
      serve_in_function(model_node().compiled_training().optimizer.shared(), *job, "train_on_batch");
      model_node().resume_point().train_step = thread_context().step;
    }
    stepper.train(batch);
  });
}

Logs Model::train_on_batch(const Tensor& x, const Tensor& y, const Tensor& sample_weight,
                           const ClassWeight& class_weight) const {
  Batch batch = batch_of(x, y, sample_weight);
  if (!class_weight.empty()) weigh_classes(batch, class_weight);
  return train_on_batch(batch);
}

Logs Model::test_on_batch(const Batch& batch) const {
  return logs_of_step(*this, "test_on_batch", Writes::nothing, [&](Stepper& stepper) {
    agree_on_rows(*this, batch);
    stepper.test(batch);
  });
}

Logs Model::test_on_batch(const Tensor& x, const Tensor& y, const Tensor& sample_weight) const {
  return test_on_batch(batch_of(x, y, sample_weight));
}

Tensors Model::predict_all_on_batch(const Tensors& x) const {
  return with_memory_errors("predict_on_batch", [&] {
    const SharedUse use(model_node(), "predict_on_batch");
    const Batch batch{.x = x};
    (void)detail::num_rows(batch, "predict_on_batch");
    agree_on_rows(*this, batch);
    return Stepper(model_node()).predict(batch);
  });
}

Tensor Model::predict_one_on_batch(const Tensors& x) const { return only(predict_all_on_batch(x), *this); }

std::vector<Metric> Model::metrics() const {
  const std::lock_guard lock(model_node().building());
  std::vector<Metric> all = model_node().own_metrics();
  if (!compiled()) return all;
  const CompiledTraining& compiled = model_node().compiled_training();
  const std::vector<double> sums = summed(compiled, sums_to_read(model_node().epoch_sums()));
  for (const CompiledMetric& metric : compiled.metrics) {
    const auto first = sums.begin() + metric.first_sum;
    all.push_back(
        metric.metric.renamed(metric.name).with_sums({first, first + metric.metric.node().state_size()}));
  }
  return all;
}

void Model::reset_metrics() const {
  const ExclusiveUse alone(model_node(), "reset_metrics", Writes::nothing);
  Stepper(model_node()).reset();
}

namespace {

void say_jit_compile_is_ignored() {
  static std::atomic<bool> said{false};
  if (!said.exchange(true))
    log(LogChannel::warning, "compile: jit_compile is ignored, layers run kernels that are compiled already");
}

}  // namespace

namespace {

/// The optimizer to train with: as in Keras small gradients of mixed_float16 are kept from vanishing.
Optimizer with_loss_scale(const CompileConfig& config, const ModelNode& model) {
  if (!config.auto_scale_loss || model.dtype_policy() != DTypePolicy("mixed_float16") ||
      config.optimizer.node().class_name() == "LossScaleOptimizer")
    return config.optimizer;
  try {
    return LossScaleOptimizer(config.optimizer, {.name = "loss_scale_optimizer"});
  } catch (const InvalidArgumentError& error) {
    throw InvalidArgumentError("compile: the policy of model " + in_quotes(model.name()) +
                               " is mixed_float16, whose optimizer is wrapped: " + error.what() +
                               "; .auto_scale_loss = false takes it as it is");
  }
}

}  // namespace

void Model::compile(const CompileConfig& config) const {
  refuse_inside_calls(model_node(), "compile");
  const ExclusiveUse alone(model_node(), "compile", Writes::nothing);
  auto training = std::make_shared<ModelTraining>();
  training->compiled.config = config;
  training->compiled.optimizer = with_loss_scale(config, model_node());
  if (config.steps_per_execution < 1)
    throw InvalidArgumentError("compile: expected steps_per_execution >= 1, received " +
                               std::to_string(config.steps_per_execution));
  if (config.jit_compile) say_jit_compile_is_ignored();
  ModelNode& model = model_node();
  const auto before = model.training();
  training->resume.shuffle_seed = next_shared_key(*model.strategy());
  if (before) training->resume.train_step = before->resume.train_step;
  model.set_training(training);
  try {
    if (built()) build_optimizer(model);
  } catch (...) {
    model.set_training(before);
    throw;
  }
  if (const auto shared = model.template_model()) shared->set_training(training);
  model.set_no_loss_because({});
}

}  // namespace nyala
