#include <nyala/api/training/stepper.h>

#include <algorithm>
#include <mutex>

#include <nyala/api/training/resolve.h>
#include <nyala/backend/autograd/backward.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/arithmetic.h>
#include <nyala/backend/ops/cast.h>
#include <nyala/backend/ops/dispatch.h>
#include <nyala/backend/ops/reduction.h>
#include <nyala/backend/runtime/status_word.h>

namespace nyala {

/// One replica's part of a step.
struct Stepper::Part {
  Replica& replica;
  Call& call;
  TrainingState& state;
  Tensors targets;
  Tensors predictions;
  Tensor sample_weight;
  int64_t rows;
  int64_t global_rows;

  double share() const {
    return global_rows > 0 ? static_cast<double>(rows) / static_cast<double>(global_rows) : 0.0;
  }
};

namespace {

Tensor all_reduced(const Tensor& value, const Replica& replica) {
  return replica.context ? replica.context->all_reduce_sum(value.detached()) : value.detached();
}

/// Weights of shape (rows,) or (rows, 1) brought to the rank of per-sample losses.
Tensor weights_like(const Tensor& weights, const Tensor& per_sample) {
  Tensor fitted = ops::cast(weights, per_sample.dtype());
  Shape shape = fitted.shape();
  while (shape.rank() > per_sample.rank() && shape.back() == 1) shape = shape.slice(0, shape.rank() - 1);
  while (shape.rank() < per_sample.rank()) shape.append(1);
  return fitted.with_shape(shape);
}

/// Keras' squeeze or expansion of inputs whose rank is off by one with a trailing 1.
Tensor adapted_input(const Tensor& x, const Shape& expected) {
  if (expected.rank() == 0 || x.rank() == expected.rank()) return x;
  if (x.rank() == expected.rank() + 1 && x.shape().back() == 1)
    return x.with_shape(x.shape().slice(0, x.rank() - 1));
  if (x.rank() + 1 == expected.rank() && (expected.back() == 1 || expected.back() == None)) {
    Shape shape = x.shape();
    shape.append(1);
    return x.with_shape(shape);
  }
  return x;
}

}  // namespace

Stepper::Stepper(ModelNode& model) : model_(model), strategy_(*model.strategy()) {}

Batch Stepper::adapted(const Batch& batch) const {
  const Shapes expected = model_.input_shapes();
  if (expected.empty()) return batch;
  if (batch.x.size() != expected.size())
    throw InvalidArgumentError("model '" + model_.name() + "': expected " + std::to_string(expected.size()) +
                               " input(s), received " + std::to_string(batch.x.size()));
  Batch out = batch;
  for (size_t i = 0; i < expected.size(); ++i) {
    out.x[i] = adapted_input(batch.x[i], expected[i]);
    if (!matches(out.x[i].shape(), expected[i]))
      throw ShapeError("model '" + model_.name() + "', input " + std::to_string(i) + ": expected shape " +
                       expected[i].to_string() + ", received " + batch.x[i].shape().to_string());
  }
  return out;
}

void Stepper::build(const Batch& batch) {
  static std::recursive_mutex mutex;  // several threads may bring a model its first rows
  const std::lock_guard lock(mutex);
  if (model_.built()) return model_.check_variables();
  const StrategyScope scope(model_.strategy());
  Shapes shapes;
  for (const Tensor& x : batch.x) shapes.push_back(x.shape().with(0, None));
  model_.ensure_built(shapes);
  model_.check_variables();
}

Tensors Stepper::forward(Call& c, const Tensors& x) const {
  if (model_.takes_many() || x.size() > 1) return model_.invoke(c, Inputs(x));
  return {model_.invoke(c, x.at(0))};
}

void Stepper::prepare(const Batch& batch, bool training) {
  TrainingState& state = *model_.training;
  build(batch);
  if (!state.resolved) {
    Tensors shells, target_shells;
    for (const Tensor& x : batch.x) shells.push_back(x.shell());
    Call call;
    const Tensors predictions = forward(call, shells);
    resolve_outputs(state, model_, batch.y, predictions);
    state.regularized = regularized_weights(model_);
    state.sums.clear();
  }
  if (state.sums.empty()) {
    const int replicas = strategy_.num_replicas_in_sync();
    state.calls.resize(static_cast<size_t>(replicas));
    for (int id = 0; id < replicas; ++id) {
      const Device device = strategy_.store().device(id);
      state.sums.push_back(Tensor::zeros({state.num_sums}, DType::float64, device));
      state.steps.push_back(Tensor::zeros({}, DType::int64, device));
    }
    if (state.restored_sums.parts > 0) restore_sums(state, std::move(state.restored_sums));
  }
  if (training && !state.trained) {  // layers may have been frozen since compile()
    build_optimizer(model_);
    state.trained = true;
  }
}

void Stepper::learn_shapes(const Batch& batch) { prepare(adapted(batch), true); }

void Stepper::reset() {
  if (!model_.training) return;
  for (const Tensor& sums : model_.training->sums) ops::fill_zero(sums);
  model_.training->restored_sums = {};
  model_.training->rows = 0;
}

Tensor Stepper::loss_of(const Part& part, const CompiledOutput& output, size_t index) const {
  const Tensor& prediction = part.predictions[index];
  const LossNode& loss = output.loss.node();
  const Tensor target = fit_rank(part.targets[index], prediction);
  Tensor per_sample = loss.per_sample(target, prediction);
  const Tensor& weights = part.sample_weight;
  if (weights.defined()) per_sample = per_sample * weights_like(weights, per_sample);
  const Tensor sum = ops::sum(per_sample);
  const Reduction reduction = loss.reduction();
  if (reduction == Reduction::sum) return sum;
  if (reduction == Reduction::none)
    throw StateError("loss '" + loss.name() +
                     "' has reduction 'none'; training needs one number, use 'sum' or " +
                     "'sum_over_batch_size'");
  if (reduction == Reduction::mean_with_sample_weight && weights.defined())
    return sum / all_reduced(ops::cast(ops::sum(weights), sum.dtype()), part.replica);
  if (const Tensor valid = loss.valid_count(target, prediction); valid.defined())
    return sum / all_reduced(ops::cast(valid, sum.dtype()), part.replica);
  const int64_t per_row =
      per_sample.rank() > 0 ? per_sample.shape().slice(1, per_sample.rank()).num_elements() : 1;
  return sum * (1.0 / static_cast<double>(std::max<int64_t>(part.global_rows * per_row, 1)));
}

Tensor Stepper::total_loss(const Part& part) const {
  TrainingState& state = part.state;
  Tensor total;
  auto add = [&total](const Tensor& loss) { total = total.defined() ? ops::add(total, loss) : loss; };
  for (size_t i = 0; i < state.outputs.size(); ++i) {
    const CompiledOutput& output = state.outputs[i];
    if (!output.loss) continue;
    const Tensor loss = loss_of(part, output, i);
    if (state.several_losses)
      add_to_sums(part, 1 + static_cast<int64_t>(i), loss * static_cast<double>(part.global_rows));
    add(output.weight == 1.0 ? loss : loss * output.weight);
  }
  Tensor once;  // regularisers and add_loss count once per batch, not once per replica
  auto add_once = [&once](const Tensor& loss) { once = once.defined() ? ops::add(once, loss) : loss; };
  for (const RegularizedWeight& weight : state.regularized)
    if (weight.variable.trainable()) add_once(weight.regularizer(part.call[weight.variable]));
  for (const Tensor& loss : part.call.losses()) add_once(loss);
  if (once.defined()) add(ops::cast(once, total.dtype()) * part.share());
  add_to_sums(part, 0, total * static_cast<double>(part.global_rows));
  return total;
}

void Stepper::add_to_sums(const Part& part, int64_t first, const Tensor& values) const {
  const Tensor flat = ops::cast(values.detached(), DType::float64);
  const Tensor place = part.state.sums[static_cast<size_t>(part.replica.id)].rows(first, flat.num_elements());
  const Tensor source = flat.with_shape(place.shape());
  dispatch_into(ops::kAddInPlace, NoDescriptor{}, {&source}, place);
}

void Stepper::update_metrics(const Part& part) const {
  for (const CompiledMetric& compiled : part.state.metrics) {
    const Tensor prediction = part.predictions[compiled.output].detached();
    const Tensor target = fit_rank(part.targets[compiled.output], prediction);
    const Tensor weights = compiled.weighted ? part.sample_weight : Tensor();
    add_to_sums(part, compiled.first_sum, compiled.metric.node().update(target, prediction, weights));
  }
}

void Stepper::run_part(Replica& replica, const Batch& batch, bool training) {
  TrainingState& state = *model_.training;
  const int64_t global_rows = batch.x[0].shape()[0];
  const RowRange range = strategy_.rows_of(replica.id, global_rows);
  Call& call = state.calls[static_cast<size_t>(replica.id)];
  call.restart({.training = training,
                .tape = training ? replica.tape : nullptr,
                .replica = replica.context,
                .replica_index = replica.id,
                .first_row = range.first,
                .rows = range.count,
                .global_rows = global_rows,
                .step = state.steps[static_cast<size_t>(replica.id)]});
  Part part{replica, call, state, {}, {}, {}, range.count, global_rows};
  Tensors inputs;
  for (const Tensor& x : batch.x) inputs.push_back(strategy_.shard(x, replica.id));
  for (const Tensor& y : batch.y) part.targets.push_back(strategy_.shard(y, replica.id));
  if (batch.sample_weight.defined()) part.sample_weight = strategy_.shard(batch.sample_weight, replica.id);
  part.predictions = forward(call, inputs);
  const Tensor loss = total_loss(part);
  update_metrics(part);
  part.predictions.clear();
  if (training && loss.tape())
    backward(*replica.tape, loss, *replica.gradients);
  else if (training)
    replica.tape->clear();
}

void Stepper::run(const Batch& given, bool training) {
  TrainingState& state = *model_.training;
  const Batch batch = adapted(given);
  num_rows(batch, "a batch");
  prepare(batch, training);
  if (training)
    for (const Tensor& step : state.steps) step.copy_from_host(&state.train_step);
  strategy_.run([&](Replica& replica) { run_part(replica, batch, training); },
                training ? &state.optimizer.node() : nullptr);
  state.rows += static_cast<double>(batch.x[0].shape()[0]);
}

void Stepper::train(const Batch& batch) {
  TrainingState& state = *model_.training;
  run(batch, true);
  apply_assignments();
  strategy_.update(state.optimizer.node());
  ++state.train_step;
}

void Stepper::test(const Batch& batch) { run(batch, false); }

void Stepper::apply_assignments() {
  std::vector<Call>& calls = model_.training->calls;
  for (size_t i = 0; i < calls[0].assignments().size(); ++i) {
    const auto& [variable, first] = calls[0].assignments()[i];
    if (variable.aggregation() == Aggregation::only_first_replica || calls.size() == 1) {
      variable.assign(first);
      continue;
    }
    PerReplica values;
    for (const Call& call : calls) values.push_back(call.assignments().at(i).second);
    const ReduceOp op = variable.aggregation() == Aggregation::sum ? ReduceOp::sum : ReduceOp::mean;
    variable.assign(strategy_.reduce(op, values));
  }
}

Tensors Stepper::predict(const Batch& given) {
  const Batch batch = adapted(given);
  build(batch);
  const int64_t rows = batch.x[0].shape()[0];
  std::vector<Tensors> parts(static_cast<size_t>(strategy_.num_replicas_in_sync()));
  strategy_.run([&](Replica& replica) {
    const RowRange range = strategy_.rows_of(replica.id, rows);
    Call call({.training = false,
               .tape = nullptr,
               .replica = replica.context,
               .replica_index = replica.id,
               .first_row = range.first,
               .rows = range.count,
               .global_rows = rows,
               .step = {}});
    Tensors inputs;
    for (const Tensor& x : batch.x) inputs.push_back(strategy_.shard(x, replica.id));
    parts[static_cast<size_t>(replica.id)] = forward(call, inputs);
  });
  Tensors outputs;
  for (size_t i = 0; i < parts[0].size(); ++i) {
    const Tensor& sample = parts[0][i];
    const Tensor whole = Tensor::empty(sample.shape().with(0, rows), sample.dtype());
    for (size_t id = 0; id < parts.size(); ++id) {
      const RowRange range = strategy_.rows_of(static_cast<int>(id), rows);
      whole.rows(range.first, range.count).copy_from(parts[id][i]);
    }
    outputs.push_back(whole);
  }
  return outputs;
}

namespace {

void check_devices(const ModelNode& model, StrategyNode& strategy) {
  for (int id = 0; id < strategy.num_replicas_in_sync(); ++id) {
    try {
      nyala::check_status(strategy.store().device(id));
    } catch (const Error&) {
      rethrow_with_prefix("model '" + model.name() + "': ");
    }
  }
}

Logs read_logs(const TrainingState& state, const Tensors& sums_of_replicas, double rows) {
  std::vector<double> sums(static_cast<size_t>(state.num_sums), 0.0);
  for (const Tensor& of_replica : sums_of_replicas) {
    const std::vector<double> own = of_replica.to_vector<double>();
    for (size_t i = 0; i < own.size(); ++i) sums[i] += own[i];
  }
  const double count = std::max(rows, 1.0);
  std::vector<std::pair<std::string, double>> values{
      {"loss", sums_of_replicas.empty() ? 0.0 : sums[0] / count}};
  if (state.several_losses)
    for (size_t i = 0; i < state.outputs.size(); ++i)
      if (state.outputs[i].loss) values.emplace_back(state.outputs[i].name + "_loss", sums[1 + i] / count);
  for (const CompiledMetric& metric : state.metrics) {
    const auto first = sums.begin() + metric.first_sum;
    values.emplace_back(metric.name, metric.metric.node().result(std::vector<double>(
                                         first, first + metric.metric.node().state_size())));
  }
  std::sort(values.begin(), values.end());
  Logs logs;
  for (const auto& [name, value] : values) logs.set(name, value);
  return logs;
}

}  // namespace

void Stepper::check_status() const { check_devices(model_, strategy_); }

Logs Stepper::logs() const {
  return read_logs(*model_.training, model_.training->sums, model_.training->rows);
}

Logs Stepper::logs_of_now() const {
  Tensors copies;
  for (const Tensor& sums : model_.training->sums) copies.push_back(sums.clone());
  const auto model = std::static_pointer_cast<ModelNode>(model_.shared_from_this());
  return Logs([model, state = model_.training, copies, rows = model_.training->rows](Logs& target) {
    target = read_logs(*state, copies, rows);
    check_devices(*model, *model->strategy());
  });
}

}  // namespace nyala
