// A step: split the batch by the strategy, run forward, loss and backward on each replica, write what layers
// assigned, let the strategy update. Nothing in it reads a device: sums of loss and metrics stay there in
// float64, the step's number is copied to each device, and what kernels found wrong is looked at in host
// memory only. Tapes, calls and sums are kept from step to step, so that a warm one allocates nothing.
#include <nyala/api/training/stepper.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <optional>

#include <nyala/api/graph/fitted_input.h>
#include <nyala/api/layers/base/keep_output_shapes.h>
#include <nyala/api/model/input_dtype.h>

#include <nyala/api/model/config/data_argument.h>
#include <nyala/api/training/added_metrics.h>
#include <nyala/api/training/among_processes.h>
#include <nyala/api/training/check_status.h>
#include <nyala/api/training/connected_sink.h>
#include <nyala/api/training/feature_cache.h>
#include <nyala/api/training/model_training.h>
#include <nyala/api/training/no_rows_sink.h>
#include <nyala/api/training/optimizer_variables.h>
#include <nyala/api/training/replica_step.h>
#include <nyala/api/training/resolve.h>
#include <nyala/backend/autograd/backward.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/backend/runtime/status_word.h>

namespace nyala {

using namespace nyala::detail;

Stepper::Stepper(ModelNode& model) : model_(model), strategy_(*model.strategy()) {}

void Stepper::set_given(const DataArgument& data) {
  given_ = std::make_shared<const Element>(data.is_dataset() ? Element() : data.arrays());
}

Batch Stepper::adapted(const Batch& batch) const {
  const Shapes expected = model_.input_shapes();
  if (expected.empty()) return batch;
  if (batch.x.size() != expected.size())
    throw InvalidArgumentError("model " + in_quotes(model_.name()) + ": expected " +
                               std::to_string(expected.size()) + " input(s), received " +
                               std::to_string(batch.x.size()));
  Batch out = batch;
  const Tensors& inputs = model_.inputs();
  for (size_t i = 0; i < expected.size(); ++i) {
    out.x[i] = fitted_input(batch.x[i], expected[i], model_.name(), i);
    if (i < inputs.size())
      out.x[i] = with_narrowed_integers(out.x[i], inputs[i], {model_.name(), i, " of its batch"});
  }
  return out;
}

void Stepper::build(const Batch& batch) {
  const std::lock_guard lock(model_.building());
  if (model_.built() || !model_.has_call()) return model_.check_variables();
  const StrategyScope scope(model_.strategy());
  Shapes shapes;
  for (const Tensor& x : batch.x) shapes.push_back(x.shape().with(0, None));
  model_.ensure_built(shapes);
  model_.check_variables();
}

void Stepper::resolve(const Batch& batch) {
  const std::lock_guard lock(model_.building());
  CompiledTraining& compiled = model_.compiled_training();
  Call call;
  if (model_.has_call()) {
    const KeepOutputShapes kept;
    Tensors abstract;
    for (const Tensor& x : batch.x) abstract.push_back(x.as_abstract());
    resolve_outputs(compiled, model_, batch.y,
                    model_.takes_many() || abstract.size() > 1
                        ? model_.invoke(call, Inputs(abstract))
                        : Tensors{model_.invoke(call, abstract.at(0))});
  } else {
    compiled.num_sums = 1;
    compiled.resolved = true;
  }
  compiled.steps_itself = model_.overrides().train_step;
  compiled.added_metrics.clear();
  compiled.first_added_sum = compiled.num_sums;
  for (const auto& [name, value] : call.metrics())
    if (std::ranges::find(compiled.added_metrics, name) == compiled.added_metrics.end())
      compiled.added_metrics.push_back(name);
  compiled.num_sums += 2 * static_cast<int64_t>(compiled.added_metrics.size());
  compiled.regularized = regularized_weights(model_);
  model_.epoch_sums().of_replicas.clear();
}

void Stepper::prepare(const Batch& batch, bool training) {
  auto& [compiled, sums, memory, resume] = *model_.training();
  build(batch);
  if (!compiled.resolved) {
    try {
      resolve(batch);
    } catch (...) {
      compiled.resolved = false;  // the outputs may be, the rest is not
      throw;
    }
  }
  if (sums.of_replicas.empty()) {
    const int replicas = strategy_.num_local_replicas();
    memory.calls.resize(static_cast<size_t>(replicas));
    sums.logged.resize(static_cast<size_t>(replicas));
    memory.counted_metrics.resize(static_cast<size_t>(replicas));
    memory.connected.resize(static_cast<size_t>(replicas));
    memory.steps.clear();
    memory.tapes.clear();
    Tensors of_replicas;  // all, or none are kept
    for (int index = 0; index < replicas; ++index) {
      const Device device = strategy_.store().device(index);
      of_replicas.push_back(Tensor::empty({compiled.num_sums}, DType::float64, device));
      begin_sums(compiled, of_replicas.back());
      memory.steps.push_back(Tensor::zeros({}, DType::int64, device));
      memory.tapes.push_back(std::make_shared<Tape>());
      memory.tapes.back()->recorders = 1;  // for GradientTapes inside: this tape goes on without them
    }
    sums.of_replicas = std::move(of_replicas);
    if (sums.restored.parts > 0) restore_sums(compiled, sums, std::move(sums.restored), strategy_);
  }
  if (training && !compiled.trained) {  // layers may have been frozen since compile()
    build_optimizer(model_);
    compiled.trained = true;
  } else if (training) {
    follow_variables(model_);
  }
}

void Stepper::build_for(const Batch& batch) {
  naming_its_file(model_, [&] { build(adapted(batch)); });
}

void Stepper::learn_shapes(const Batch& batch) {
  naming_its_file(model_, [&] { prepare(adapted(batch), true); });
}

void Stepper::reset() {
  if (!model_.training()) return;
  EpochSums& sums = model_.epoch_sums();
  for (const Tensor& of_replica : sums.of_replicas) begin_sums(model_.compiled_training(), of_replica);
  sums.of_all.clear();
  sums.logged_of_all.clear();
  for (auto& logged : sums.logged) logged.clear();
  for (Metric metric : model_.own_metrics()) metric.reset_state();
  sums.loss_is_tracked = false;
  sums.restored = {};
  sums.rows = 0;
}

namespace {

/// The rows of the whole batch that belong to a replica, from the batch at `place` of it.
Batch part_of(StrategyNode& strategy, const Batch& batch, const BatchPlace& place, int local_index) {
  const RowRange range = rows_of_replica(strategy, place, local_index);
  Batch part = batch;
  for_each_tensor(part, [&](Tensor& tensor) {
    tensor = strategy.place(tensor.rows(range.first - place.first, range.count), local_index);
  });
  return part;
}

/// Of a batch that may be whole.
BatchPlace known(const BatchPlace& place, const Batch& batch) {
  return place.rows > 0 ? place : BatchPlace{0, batch.x[0].shape()[0]};
}

/// Leaves no half of a step on the tape.
class ClearedTape {
 public:
  explicit ClearedTape(Tape& tape) : tape_(tape) {}
  ~ClearedTape() { tape_.clear(); }
  ClearedTape(const ClearedTape&) = delete;
  ClearedTape& operator=(const ClearedTape&) = delete;

 private:
  Tape& tape_;
};

}  // namespace

/// Before this replica's gradients count: what its kernels found wrong ends the step, so that the weights
/// stay as they are. Words in other memories than the host's are looked at later: nothing waits for a device
/// here.
void Stepper::check_reports(const Replica& replica) const {
  const bool alone = replica.num_replicas == 1;  // then with all devices that computed for it
  if (model_.step_memory().status.has_report_on_host(alone ? std::nullopt : std::optional(replica.device)))
    throw NumericError("training met an id or a label out of range");  // run() says which
}

void Stepper::throw_nothing_trains() const {
  throw InvalidArgumentError("model " + in_quotes(model_.name()) +
                             ": no gradients provided for any variable: the loss does not depend on the "
                             "weights by ops that have a gradient (a detached() value, floor, argmax and "
                             "constants have none)");
}

/// As in Keras a variable that the loss led to on no replica keeps its value, whatever weight decay and
/// moments say. It is known when the step's tapes have been walked.
void Stepper::leave_unconnected() const {
  BaseOptimizer& optimizer = model_.compiled_training().optimizer.node();
  const auto& of_replicas = model_.step_memory().connected;
  const auto is_connected = [&of_replicas](const Variable& variable) {
    const size_t leaf = static_cast<size_t>(variable.node().leaf);
    return std::ranges::any_of(of_replicas, [leaf](const std::vector<bool>& c) { return c[leaf]; });
  };
  const Variables& all = optimizer.variables();
  if (std::ranges::all_of(all, is_connected)) return;
  Variables active;
  std::ranges::copy_if(all, std::back_inserter(active), is_connected);
  if (active.empty()) throw_nothing_trains();
  optimizer.restrict_step(strategy_.store(), active);
}

/// Forward and backward where no train_step() says otherwise: buckets are reduced while backward runs.
void Stepper::train_part(ReplicaStep& step, const Batch& part) {
  Tape& tape = *model_.step_memory().tapes[static_cast<size_t>(step.replica().local_index)];
  const ClearedTape cleared(tape);
  Tensor loss;
  {
    const ScopedValue<Tape*> recording(thread_context().tape, &tape);
    const Tensors predictions = step.forward(part.x);
    loss = step.compute_loss(part, predictions);
    step.track_loss(loss);
    step.compute_metrics(part, predictions);
  }
  check_reports(step.replica());
  const double scale =
      model_.compiled_training().optimizer.node().scale_for_loss();  // the update divides by it
  if (!loss.tape()) {
    if (step.rows() > 0 && !step.trainable_variables().empty()) throw_nothing_trains();
    return;
  }
  ConnectedSink sink(*step.replica().gradients,
                     model_.step_memory().connected[static_cast<size_t>(step.replica().local_index)]);
  NoRowsSink empty(sink);
  backward(tape, scale == 1.0 ? loss : loss * scale,
           step.rows() > 0 ? static_cast<GradientSink&>(sink) : empty);
}

void Stepper::run_part(Replica& replica, const Batch& batch, Mode mode) {
  auto& [compiled, sums, memory, resume] = *model_.training();
  const int64_t global_rows = place_.rows;
  const RowRange range = rows_of_replica(strategy_, place_, replica.local_index);
  Call& call = memory.calls[static_cast<size_t>(replica.local_index)];
  call.restart({.training = mode != Mode::test,
                .tape = nullptr,
                .replica = replica.context,
                .local_index = replica.local_index,
                .first_row = range.first,
                .rows = range.count,
                .global_rows = global_rows,
                .step = memory.steps[static_cast<size_t>(replica.local_index)],
                .pass = pass_,
                .trained = compiled.trained ? &compiled.trained_leaves : nullptr,
                .fold_batch_normalization = folds_,
                .recompute_batch_normalization = compiled.config.recompute_batch_normalization});
  (mode == Mode::test ? *status_ : memory.status).set_rows(replica.device, range.first, range.count);
  sums.logged[static_cast<size_t>(replica.local_index)].clear();
  memory.counted_metrics[static_cast<size_t>(replica.local_index)] = 0;
  memory.connected[static_cast<size_t>(replica.local_index)].assign(compiled.trained_leaves.size(), false);
  ReplicaStep step(model_, replica, call, cache_ ? cache_->head() : nullptr);
  const RunningCall own{.call = &call, .layer = &model_, .is_step = true};
  const ScopedValue<const RunningCall*> running(thread_context().running, &own);
  const Batch part = part_of(strategy_, batch, place_, replica.local_index);
  if (mode == Mode::train)
    train_part(step, part);
  else if (mode == Mode::own_train)
    model_.train_step(step, part);
  else
    model_.test_step(step, part);
  count_added_metrics(model_, call);  // those of a step of the model's own
}

void Stepper::run(const Batch& given, Mode mode, const BatchPlace& place) {
  auto& [compiled, sums, memory, resume] = *model_.training();
  Batch batch = adapted(given);
  num_rows(batch, "a batch");
  prepare(batch, mode != Mode::test);
  if (cache_) batch = cache_->with_features(batch, mode != Mode::test);
  place_ = known(place, batch);
  if (mode != Mode::test)
    for (const Tensor& step : memory.steps) step.copy_from_host(&resume.train_step);
  pass_ = mode == Mode::test ? model_.next_pass() : 0;
  const StatusScope reports(mode == Mode::test ? *status_ : memory.status);
  try {
    strategy_.run([&](Replica& replica) { run_part(replica, batch, mode); },
                  mode == Mode::train ? &compiled.optimizer.node() : nullptr);
  } catch (const Error&) {
    if (mode != Mode::test)
      nyala::check_status(memory.status, model_,
                          given_.get());  // the cause, in a text that knows the whole batch
    throw;
  }
  sums.rows += static_cast<double>(place_.rows);
  const bool chief_adds = strategy_.parameter_server_job() != nullptr;
  if (strategy_.processes() && !chief_adds) bring_sums_together();
}

// What is read later is the same in all processes then, and waits for nobody.
void Stepper::bring_sums_together() {
  EpochSums& sums = model_.epoch_sums();
  gather_sums(strategy_, sums);
  bring_together(strategy_, model_.own_metrics());
}

void Stepper::train(const Batch& batch, const BatchPlace& place) {
  const Mode mode = model_.overrides().train_step ? Mode::own_train : Mode::train;
  trains_ = true;
  naming_its_file(model_, [&] {
    run(batch, mode, place);
    if (mode == Mode::train) leave_unconnected();
    apply_assignments(strategy_, model_.step_memory().calls);
    if (mode == Mode::train) strategy_.update(model_.compiled_training().optimizer.node());
  });
  ++model_.resume_point().train_step;
}

void Stepper::test(const Batch& batch, const BatchPlace& place) {
  naming_its_file(model_, [&] {
    run(batch, Mode::test, place);
    apply_assignments(strategy_, model_.step_memory().calls);
  });
}

Tensors Stepper::forward(const Batch& batch, bool training, const BatchPlace& place) {
  return naming_its_file(model_, [&] { return outputs_of(batch, training, place); });
}

namespace {

/// Predictions are put together by rows.
void check_output_rows(const ModelNode& model, const Tensors& outputs, int64_t rows) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Shape& shape = outputs[i].shape();
    if (shape.rank() > 0 && shape[0] == rows) continue;
    throw ShapeError(
        "model " + in_quotes(model.name()) + ": expected outputs with a row for each of the " +
        std::to_string(rows) + " rows of the inputs, received shape " + shape.to_string() + " of output " +
        in_quotes(model.output_names(outputs.size()).at(i)) +
        (shape.rank() > 0 ? "" : ", a scalar; what goes over the rows is no prediction: keep axis 0"));
  }
}

}  // namespace

Tensors Stepper::outputs_of(const Batch& given, bool training, const BatchPlace& given_place) {
  const Batch batch = adapted(given);
  build(batch);
  const BatchPlace place = known(given_place, batch);
  const int64_t rows = place.rows;
  std::vector<Tensors> parts(static_cast<size_t>(strategy_.num_local_replicas()));
  std::vector<Call> calls(parts.size());
  const uint64_t pass = training ? 0 : model_.next_pass();
  StatusWords status;
  std::optional<StatusScope> reports(status);
  strategy_.run([&](Replica& replica) {
    const RowRange range = strategy_.rows_of(replica.id, rows);
    Call& call = calls[static_cast<size_t>(replica.local_index)];
    call.restart({.training = training,
                  .tape = nullptr,
                  .replica = replica.context,
                  .local_index = replica.local_index,
                  .first_row = range.first,
                  .rows = range.count,
                  .global_rows = rows,
                  .step = {},
                  .pass = pass,
                  .fold_batch_normalization = folds_});
    status.set_rows(replica.device, range.first, range.count);
    ReplicaStep step(model_, replica, call);
    const RunningCall own{.call = &call, .layer = &model_, .is_step = true};
    const ScopedValue<const RunningCall*> running(thread_context().running, &own);
    parts[static_cast<size_t>(replica.local_index)] =
        model_.predict_step(step, part_of(strategy_, batch, place, replica.local_index));
    check_output_rows(model_, parts[static_cast<size_t>(replica.local_index)], range.count);
  });
  reports.reset();
  nyala::check_status(status, model_, given_.get());
  apply_assignments(strategy_, calls);
  Tensors outputs;
  for (size_t i = 0; i < parts[0].size(); ++i) {
    const Tensor& sample = parts[0][i];
    const auto rows_of = [&](size_t index) {
      return strategy_.rows_of(strategy_.replica_id(static_cast<int>(index)), rows);
    };
    const int64_t first = rows_of(0).first,
                  end = rows_of(parts.size() - 1).first + rows_of(parts.size() - 1).count;
    const Tensor own = Tensor::empty(sample.shape().with(0, end - first), sample.dtype());
    for (size_t index = 0; index < parts.size(); ++index)
      own.rows(rows_of(index).first - first, rows_of(index).count).copy_from(parts[index][i]);
    outputs.push_back(rows_of_all(strategy_, own));
  }
  return outputs;
}

namespace {

using NamedValues = std::map<std::string, std::vector<double>>;

Logs read_logs(const ModelTraining& training, const Tensors& sums_of_replicas, double rows) {
  const CompiledTraining& compiled = training.compiled;
  const std::vector<double> sums = summed(compiled, sums_of_replicas);
  const double count = std::max(rows, 1.0);
  NamedValues values;
  if (!compiled.steps_itself || training.sums.loss_is_tracked)
    values["loss"] = {sums.empty() ? 0.0 : sums[0] / count};
  if (compiled.several_losses)
    for (size_t i = 0; i < compiled.outputs.size(); ++i)
      if (compiled.outputs[i].loss) values[compiled.outputs[i].name + "_loss"] = {sums[1 + i] / count};
  for (const CompiledMetric& metric : compiled.metrics) {
    const auto first = sums.begin() + metric.first_sum;
    values[metric.name] =
        metric.metric.node().results(std::vector<double>(first, first + metric.metric.node().state_size()));
  }
  for (size_t i = 0; i < compiled.added_metrics.size(); ++i) {
    const size_t first = static_cast<size_t>(compiled.first_added_sum) + 2 * i;
    values[compiled.added_metrics[i]] = {sums[first + 1] > 0 ? sums[first] / sums[first + 1] : 0.0};
  }
  Logs logs;
  for (const auto& [name, all] : values) logs.set(name, all);
  return logs;
}

/// What a train_step() logged in the last step, brought together as it said.
std::map<std::string, double> logged_values(const EpochSums& sums) {
  std::map<std::string, double> totals, rows;
  for (const auto& of_replica : sums.logged_of_all.empty() ? sums.logged : sums.logged_of_all)
    for (const LoggedValue& logged : of_replica) {
      const bool mean = logged.op == ReduceOp::mean;
      if (mean && logged.rows == 0) continue;  // the mean over no rows says nothing
      const double weight = mean ? static_cast<double>(logged.rows) : 1.0;
      totals[logged.name] += logged.value.item() * weight;
      rows[logged.name] += mean ? weight : 0.0;
    }
  for (auto& [name, total] : totals)
    if (rows[name] > 0) total /= rows[name];
  return totals;
}

/// `logs` with the results of the model's own metrics, in alphabetical order.
Logs with_own_values(const Logs& logs, const ModelNode& model) {
  NamedValues named;
  for (const auto& [name, value] : logs) named[name] = logs.values(name);
  for (const auto& [name, value] : logged_values(model.epoch_sums())) named[name] = {value};
  for (const Metric& metric : model.own_metrics()) named[metric.name()] = metric.results();
  Logs all;
  for (const auto& [name, values] : named) all.set(name, values);
  return all;
}

bool has_own_values(const ModelNode& model) {
  bool any = !model.own_metrics().empty();
  for (const auto& logged : model.epoch_sums().logged) any = any || !logged.empty();
  return any;
}

}  // namespace

void Stepper::clear_status() const { model_.step_memory().status.clear(); }

void Stepper::check_status() const {
  if (trains_) nyala::check_status(model_.step_memory().status, model_, given_.get());
  nyala::check_status(*status_, model_, given_.get());
}

Logs Stepper::logs() const {
  const Logs logs =
      read_logs(*model_.training(), sums_to_read(model_.epoch_sums()), model_.epoch_sums().rows);
  return has_own_values(model_) ? with_own_values(logs, model_) : logs;
}

Logs Stepper::logs_of_now() const {
  if (has_own_values(model_)) return logs();  // their sums go on
  Tensors copies;
  for (const Tensor& sums : sums_to_read(model_.epoch_sums())) copies.push_back(sums.clone());
  const auto model = std::static_pointer_cast<ModelNode>(model_.shared_from_this());
  return Logs([model, training = model_.training(), status = status_, copies, rows = model_.epoch_sums().rows,
               given = given_, trains = trains_](Logs& target) {
    target = read_logs(*training, copies, rows);
    if (trains) nyala::check_status(training->memory.status, *model, given.get());
    nyala::check_status(*status, *model, given.get());
  });
}

}  // namespace nyala
