// Each replica's loss is the sum over its rows divided by what counts in the whole batch, so that gradients
// and logs of replicas are added, whatever their rows. What looks at other rows than its own (a loss of the
// whole batch, divisors by weights or masks) gets them by an exchange; what counts once per batch counts by
// shares of rows.
#include <nyala/api/training/replica_step.h>

#include <algorithm>

#include <nyala/api/base/at_least_float32.h>
#include <nyala/api/base/divide_no_nan.h>
#include <nyala/api/layers/base/mask.h>
#include <nyala/api/layers/base/seeded_node.h>
#include <nyala/api/losses/configured_loss.h>
#include <nyala/api/metrics/base/mean_metric.h>
#include <nyala/api/training/added_loss.h>
#include <nyala/api/training/added_metrics.h>
#include <nyala/api/training/model_training.h>
#include <nyala/api/training/optimizer_variables.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/base/replica_exchange.h>
#include <nyala/backend/ops/base/uniform_rows.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/random/noise.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/backend/runtime/random.h>

namespace nyala {

using namespace nyala::detail;

namespace {

/// Weights of shape (rows,) or (rows, 1) brought to the rank of per-sample losses.
Tensor weights_like(const Tensor& weights, const Tensor& per_sample) {
  Tensor fitted = ops::cast(weights, per_sample.dtype());
  Shape shape = fitted.shape();
  while (shape.rank() > per_sample.rank() && shape.back() == 1) shape = shape.slice(0, shape.rank() - 1);
  while (shape.rank() < per_sample.rank()) shape.append(1);
  return fitted.with_shape(shape);
}

[[noreturn]] void throw_no_reduction(const Loss& loss) {
  throw StateError("loss " + in_quotes(loss.name()) +
                   " has reduction 'none'; training needs one number, use 'sum' or 'sum_over_batch_size'");
}

/// Whether a loss of y_true and y_pred may hold rows of the one against another axis of the other: in losses
/// of elements, numbers of axes that differ are broadcast from the last one. Those rows are the whole
/// batch's, not a replica's.
bool broadcasts_rows(const LossNode& loss, const Tensor& target, const Tensor& prediction) {
  const auto [y_true, y_pred] = fit_ranks(target, prediction);
  return loss.compares_elements() && y_true.rank() != y_pred.rank();
}

void add(Tensor& total, const Tensor& loss) { total = total.defined() ? ops::add(total, loss) : loss; }

}  // namespace

Call& ReplicaStep::call() {
  call_.set_tape(thread_context().tape);
  return call_;
}

double ReplicaStep::share() const {
  return global_rows() > 0 ? static_cast<double>(rows()) / static_cast<double>(global_rows()) : 0.0;
}

ModelTraining& ReplicaStep::state() const {
  if (!model_.training()) throw StateError("model " + in_quotes(model_.name()) + ": this needs compile()");
  return *model_.training();
}

Tensor ReplicaStep::forward(const Tensor& x) { return forward(Tensors{x})[0]; }

Tensors ReplicaStep::forward(const Tensors& x) {
  if (forwarded_.takes_many() || x.size() > 1) return forwarded_.invoke(call(), Inputs(x));
  return {forwarded_.invoke(call(), x.at(0))};
}

Tensor ReplicaStep::compute_loss(const Batch& batch, const Tensors& predictions) {
  return model_.compute_loss(*this, batch, predictions);
}

void ReplicaStep::compute_metrics(const Batch& batch, const Tensors& predictions) {
  model_.compute_metrics(*this, batch, predictions);
}

Tensor ReplicaStep::all_reduced(const Tensor& value) const {
  return replica_.context ? replica_.context->all_reduce_sum(value.detached()) : value.detached();
}

// Every replica computes it from all rows; one of them lets it count.
Tensor ReplicaStep::loss_of_whole_batch(const Loss& loss, const Tensor& target, const Tensor& prediction,
                                        const Tensor& weights) {
  const auto all = [this](const Tensor& x) { return ops::detail::replica_all_gather(x, replica_.context); };
  const Tensor whole = loss(all(target), all(prediction), weights.defined() ? all(weights) : Tensor());
  if (whole.rank() > 0) throw_no_reduction(loss);
  return replica_.id == 0 ? whole : whole * 0.0;
}

/// The loss of a function that gave the mean of this replica's rows: it counts by them. Weights and a mask
/// make a factor of it as in Keras, where the scalar spreads over them.
Tensor ReplicaStep::loss_of_mean(const Loss& loss, const Tensor& mean, const Tensor& prediction,
                                 const Tensor& weights) {
  const Reduction reduction = loss.node().reduction();
  const Tensor mask = mask_of(prediction);
  const Tensor counted = mask.defined() ? ops::cast(mask, mean.dtype()) : Tensor();
  Tensor factors = counted;
  if (weights.defined())
    factors = mask.defined() ? counted * weights_like(weights, counted) : ops::cast(weights, mean.dtype());
  Tensor factor;
  if (factors.defined()) {
    if (reduction == Reduction::none) throw_no_reduction(loss);
    factor = all_reduced(ops::sum(factors));
    const bool by_weight = reduction == Reduction::mean_with_sample_weight;
    if (reduction != Reduction::sum)
      factor = divide_no_nan(factor, by_weight        ? factor
                                     : mask.defined() ? all_reduced(ops::sum(counted))
                                                      : all_reduced(ops::sum(ops::ones_like(factors))));
  }
  if (rows() == 0)
    return ops::cast(ops::sum(prediction) * 0.0, mean.dtype());  // the mean of nothing is no number
  return factor.defined() ? mean * factor * share() : mean * share();
}

namespace {

void check_values_of_rows(const Loss& loss, const Tensor& values, const Tensor& prediction) {
  const int64_t rows = prediction.rank() > 0 ? prediction.shape()[0] : 1;
  if (values.shape()[0] == rows) return;
  throw ShapeError("loss " + in_quotes(loss.name()) + ": expected a value for each of the " +
                   std::to_string(rows) + " rows or a scalar, their mean, received shape " +
                   values.shape().to_string() +
                   "; one that is no mean over rows is made with {.rows_are_independent = false}");
}

/// The loss' values; shapes that do not fit are an error that names the model, too.
Tensor values_of(const ModelNode& model, const Loss& loss, const Tensor& target, const Tensor& prediction) {
  try {
    return per_sample_of(loss.node(), target, prediction);
  } catch (const ShapeError&) {
    rethrow_with_prefix("model " + in_quotes(model.name()) + ": ");
  }
}

/// The weights in a shape that broadcasts to that of the values, of which this replica has its rows.
Tensor fitting_weights(const ModelNode& model, const Loss& loss, const Tensor& weights, const Tensor& values,
                       int64_t global_rows) {
  const Tensor fitted = weights_like(weights, values);
  bool fits = fitted.rank() == values.rank();
  for (int axis = 0; fits && axis < fitted.rank(); ++axis)
    fits = fitted.shape()[axis] == values.shape()[axis] || fitted.shape()[axis] == 1;
  if (fits) return fitted;
  throw ShapeError("model " + in_quotes(model.name()) + ": loss " + in_quotes(loss.name()) +
                   ": expected a sample_weight of shape " + values.shape().with(0, global_rows).to_string() +
                   ", one for each of its values, or with an axis of size 1, received shape " +
                   weights.shape().with(0, global_rows).to_string());
}

/// 1 for the values that count and 0 for others, the loss' own (ignored classes) and those that `mask` leaves
/// out; undefined where all count.
Tensor counted_values(const Tensor& valid, const Tensor& mask, const Tensor& values) {
  if (!mask.defined() || mask.rank() > values.rank()) return valid;
  const Tensor kept = ops::add(weights_like(mask, values), ops::zeros_like(values));
  return valid.defined() ? kept * ops::cast(valid, kept.dtype()).with_shape(kept.shape()) : kept;
}

/// The batch that compile() was resolved for had one; later ones may lack it.
const Tensor& target_of(const CompiledTraining& compiled, const Batch& batch, size_t output) {
  if (output < batch.y.size() && batch.y[output].defined()) return batch.y[output];
  throw InvalidArgumentError("output " + in_quotes(compiled.outputs[output].name) +
                             " has a loss or a metric, but the batch has no target for it: it has " +
                             std::to_string(batch.y.size()) + " of " +
                             std::to_string(compiled.outputs.size()) + "; pass one y per output");
}

/// As Keras' "y_true and y_pred have different structures": what is too much would be ignored.
void check_counts(const ModelNode& model, const CompiledTraining& compiled, const Batch& batch) {
  const size_t outputs = compiled.outputs.size();
  size_t weights = 0;
  batch.sample_weight.for_each([&](const Tensor&) { ++weights; });
  if (batch.y.size() <= outputs && weights <= outputs) return;
  throw InvalidArgumentError("model " + in_quotes(model.name()) + ": expected at most one target and one " +
                             "sample_weight for each of its " + std::to_string(outputs) +
                             " output(s), the batch has " + std::to_string(batch.y.size()) + " and " +
                             std::to_string(weights));
}

}  // namespace

Tensor ReplicaStep::loss_of(const CompiledOutput& output, size_t index, const Batch& batch,
                            const Tensors& predictions) {
  const Tensor& prediction = predictions[index];
  const Loss& loss = output.loss;
  const Tensor given = fit_rank(target_of(state().compiled, batch, index), prediction);
  const Tensor weights = batch.sample_weight[index];
  if (!loss.node().rows_are_independent()) return loss_of_whole_batch(loss, given, prediction, weights);
  if (!replica_.context || !broadcasts_rows(loss.node(), given, prediction))
    return loss_of_rows(loss, {given, prediction, weights});
  const auto all = [this](const Tensor& x) {
    return x.defined() ? ops::detail::replica_all_gather(x, replica_.context) : x;
  };
  const Tensor whole = loss_of_rows(
      loss, {all(given), with_mask(all(prediction), all(mask_of(prediction))), all(weights), true});
  return replica_.id == 0 ? whole : whole * 0.0;
}

Tensor ReplicaStep::loss_of_rows(const Loss& handle, const LossRows& rows) {
  const auto& [given, prediction, weights, all] = rows;
  const LossNode& loss = handle.node();
  const auto [target, seen] = in_loss_dtype(loss, given, prediction);
  Tensor values = values_of(model_, handle, target, seen);
  if (values.rank() == 0) return loss_of_mean(handle, values, prediction, weights);
  check_values_of_rows(handle, values, prediction);
  const Tensor fitted =
      weights.defined() ? fitting_weights(model_, handle, weights, values, global_rows()) : weights;
  if (fitted.defined()) values = values * fitted;
  const Tensor counted = counted_values(loss.valid_mask(target, seen), mask_of(prediction), values);
  if (counted.defined()) values = values * counted;
  const Tensor sum = ops::sum(values);
  const Reduction reduction = loss.reduction();
  if (reduction == Reduction::sum) return sum;
  if (reduction == Reduction::none) throw_no_reduction(handle);
  Tensor divisor;
  if (reduction == Reduction::mean_with_sample_weight && fitted.defined())
    divisor = ops::sum(counted.defined() ? fitted * counted : fitted);
  else
    divisor = counted.defined() ? ops::sum(counted) : loss.valid_count(target, seen);
  if (divisor.defined()) {
    divisor = ops::cast(divisor, sum.dtype());
    return divide_no_nan(sum, all ? divisor.detached() : all_reduced(divisor));
  }
  const int64_t per_row = values.shape().slice(1, values.rank()).num_elements();
  return sum * (1.0 / static_cast<double>(std::max<int64_t>(global_rows() * per_row, 1)));
}

Tensor ReplicaStep::compiled_loss(const Batch& batch, const Tensors& predictions) {
  const CompiledTraining& compiled = state().compiled;
  // As in Keras a layer inside a loss is no part of the step: it runs in inference mode.
  const ScopedValue<const RunningCall*> no_step(thread_context().running, nullptr);
  Tensor total;
  for (size_t i = 0; i < compiled.outputs.size(); ++i) {
    const CompiledOutput& output = compiled.outputs[i];
    if (!output.loss) continue;
    check_counts(model_, compiled, batch);
    const Tensor loss = loss_of(output, i, batch, predictions);
    if (compiled.several_losses)
      add_to_sums(1 + static_cast<int64_t>(i), loss * static_cast<double>(global_rows()));
    add(total, output.weight == 1.0 ? loss : loss * output.weight);
  }
  Tensor once;  // regularisers and add_loss count once per batch, not once per replica
  for (const RegularizedWeight& weight : compiled.regularized)
    if (compiled.trains(weight.variable)) add(once, weight.regularizer(call()[weight.variable]));
  for (const Tensor& loss : call_.losses()) add(once, added_loss(call_, loss));
  if (once.defined()) add(total, (total.defined() ? ops::cast(once, total.dtype()) : once) * share());
  if (!total.defined())
    throw InvalidArgumentError("no loss to compute: pass a loss to compile(), or override compute_loss()");
  return total;
}

void ReplicaStep::track_loss(const Tensor& loss) {
  add_to_sums(0, loss * static_cast<double>(global_rows()));
  state().sums.loss_is_tracked = true;
}

void ReplicaStep::track_loss(Metric& mean, const Tensor& loss) {
  const double replicas = replica_.num_replicas;
  const Tensor part = loss.detached().with_shape({1});  // a scalar would count by this replica's rows
  mean.update_state(
      part * replicas, {},
      Tensor::full({1}, static_cast<double>(global_rows()) / replicas, loss.dtype(), loss.device()));
}

void ReplicaStep::add_to_sums(int64_t first, const Tensor& values) {
  const Tensor flat = ops::cast(values.detached(), DType::float64);
  const Tensor& sums = state().sums.of_replicas[static_cast<size_t>(replica_.local_index)];
  const Tensor place = sums.rows(first, flat.num_elements());
  const Tensor source = flat.with_shape(place.shape());
  dispatch_into(ops::kAddInPlace, NoDescriptor{}, {&source}, place);
}

namespace {

/// Weights for a metric that leaves masked steps out: the mask, times the weights where there are any.
Tensor masked_weights(const Metric& metric, const Tensor& weights, const Tensor& prediction) {
  const Tensor mask = mask_of(prediction);
  const auto* mean = dynamic_cast<const metrics::MeanMetricNode*>(&metric.node());
  if (!mask.defined() || !mean || !mean->counts_masks() || mask.rank() >= prediction.rank()) return weights;
  const Tensor counted = ops::cast(mask, weights.defined() ? weights.dtype() : prediction.dtype());
  return weights.defined() ? counted * weights_like(weights, counted) : counted;
}

}  // namespace

void ReplicaStep::update_compiled_metrics(const Batch& batch, const Tensors& predictions) {
  const ScopedValue<const RunningCall*> no_step(thread_context().running, nullptr);
  const CompiledTraining& compiled = state().compiled;
  if (!compiled.metrics.empty()) check_counts(model_, compiled, batch);
  const Tensor& sums = state().sums.of_replicas[static_cast<size_t>(replica_.local_index)];
  for (const CompiledMetric& entry : compiled.metrics) {
    const Tensor& tracked = predictions[entry.output];
    Tensor prediction = at_least_float32(tracked.detached());
    if (tracked.metadata()) prediction = with_mask(prediction, mask_of(tracked));
    const Tensor target = fit_rank(target_of(compiled, batch, entry.output), prediction);
    const Tensor weights = masked_weights(
        entry.metric, entry.weighted ? batch.sample_weight[entry.output] : Tensor(), prediction);
    const MetricNode& metric = entry.metric.node();
    metric.update_state(sums.rows(entry.first_sum, metric.state_size()), target, prediction, weights);
  }
  count_added_metrics(model_, call_);
}

void ReplicaStep::log(const std::string& name, const Tensor& value, ReduceOp op) {
  if (value.num_elements() != 1)
    throw ShapeError("log(\"" + name + "\"): expected a scalar, received shape " + value.shape().to_string());
  auto& logged = state().sums.logged[static_cast<size_t>(replica_.local_index)];
  LoggedValue entry{name, op, value.detached(), rows()};
  for (LoggedValue& known : logged)
    if (known.name == name) {
      known = std::move(entry);
      return;
    }
  logged.push_back(std::move(entry));
}

Variables ReplicaStep::trainable_variables() const {
  const CompiledTraining& compiled = state().compiled;
  if (const Variables tables = trained_tables(compiled.known); !tables.empty())
    throw StateError("model " + in_quotes(model_.name()) + ": a train_step() of its own cannot train " +
                     in_quotes(tables[0].path()) +
                     ", a table on parameter servers, whose gradient is rows that fit's own step pushes to "
                     "them; leave train_step() out, or keep the table in each worker, below "
                     ".remote_rows_above");
  return compiled.optimizer.node().variables();
}

Optimizer ReplicaStep::optimizer() const { return state().compiled.optimizer; }

void ReplicaStep::apply_gradients(const Tensors& gradients) {
  apply_gradients(gradients, trainable_variables());
}

void ReplicaStep::apply_gradients(const Tensors& gradients, const Variables& variables) {
  optimizer().apply_gradients(gradients, variables);
}

// The key is that of the model's shuffling, which checkpoints hold.
RandomKey ReplicaStep::next_draw(const char* what, const Shape& shape) {
  if (shape.rank() == 0 || shape[0] != rows())
    throw ShapeError(std::string(what) + ": expected a shape that begins with the " + std::to_string(rows()) +
                     " rows of the replica, step.rows(), received " + shape.to_string());
  return call_.random_key(mix_key(state().resume.shuffle_seed, "step"));
}

Tensor ReplicaStep::random_normal(const Shape& shape, double mean, double stddev) {
  const RandomKey draw = next_draw("random_normal", shape);
  const Tensor like = Tensor::empty(shape, DType::float32, thread_context().device);
  return ops::noise_like(like, drawing_step(call_, like),
                         {.mean = mean, .stddev = stddev, .key = draw.key, .first_row = draw.first_row});
}

// Every element is a row for the op.
Tensor ReplicaStep::random_uniform(const Shape& shape, double low, double high) {
  const RandomKey draw = next_draw("random_uniform", shape);
  const int64_t per_row = shape.slice(1, shape.rank()).num_elements();
  return ops::uniform_rows(call_.step(), {.rows = shape[0] * per_row,
                                          .ranges = {ops::UniformRange{low, high}},
                                          .key = draw.key,
                                          .first_row = draw.first_row * per_row})
      .with_shape(shape);
}

}  // namespace nyala
