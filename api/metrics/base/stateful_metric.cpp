// A state that batches replace: each replica has its own, and they are brought together when read by the
// aggregation of each variable. A sum that begins at another number than 0 has it once, not once per replica.
#include <nyala/api/metrics/base/stateful_metric.h>

#include <algorithm>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>

namespace nyala {

namespace {

/// The tensors of a state that lies flat.
Tensors parts_of(const Tensor& flat, const std::vector<MetricVariable>& variables) {
  Tensors parts;
  int64_t first = 0;
  for (const MetricVariable& variable : variables) {
    const int64_t size = variable.shape.num_elements();
    parts.push_back(flat.rows(first, size).with_shape(variable.shape));
    first += size;
  }
  return parts;
}

Tensor in_float64(const Tensor& x) {
  return x.defined() && is_floating(x.dtype()) ? ops::cast(x, DType::float64) : x;
}

/// One element of all replicas' states.
double merged_element(const std::vector<std::vector<double>>& states, size_t at,
                      const MetricVariable& variable) {
  double value = states.front()[at];
  if (variable.aggregation == StateAggregation::only_first_replica) return value;
  for (size_t i = 1; i < states.size(); ++i) {
    const double other = states[i][at];
    if (variable.aggregation == StateAggregation::max)
      value = std::max(value, other);
    else if (variable.aggregation == StateAggregation::min)
      value = std::min(value, other);
    else
      value += other;
  }
  const auto count = static_cast<double>(states.size());
  if (variable.aggregation == StateAggregation::mean) return value / count;
  const bool sums = variable.aggregation == StateAggregation::sum && variable.initial != 0.0;
  return sums ? value - (count - 1.0) * variable.initial : value;
}

}  // namespace

int64_t StatefulMetric::state_size() const {
  int64_t size = 0;
  for (const MetricVariable& variable : state()) size += variable.shape.num_elements();
  return size;
}

std::vector<double> StatefulMetric::initial_state() const {
  std::vector<double> all;
  for (const MetricVariable& variable : state())
    all.insert(all.end(), static_cast<size_t>(variable.shape.num_elements()), variable.initial);
  return all;
}

void StatefulMetric::update_state(const Tensor& state, const Tensor& y_true, const Tensor& y_pred,
                                  const Tensor& sample_weight) const {
  if (y_true.rank() > 0 && y_true.shape()[0] == 0) return;
  const std::vector<MetricVariable> variables = this->state();
  const Tensors next = updated(parts_of(state.clone(), variables), in_float64(y_true), in_float64(y_pred),
                               in_float64(sample_weight));
  if (next.size() != variables.size())
    throw ShapeError("metric " + detail::in_quotes(name()) + ": updated() gave " +
                     std::to_string(next.size()) + " tensors, its state has " +
                     std::to_string(variables.size()));
  const Tensors places = parts_of(state, variables);
  for (size_t i = 0; i < next.size(); ++i) {
    if (next[i].shape() != variables[i].shape)
      throw ShapeError("metric " + detail::in_quotes(name()) + ": updated() gave " +
                       detail::in_quotes(variables[i].name) + " shape " + next[i].shape().to_string() +
                       ", state() says " + variables[i].shape.to_string());
    const Tensor value = ops::cast(next[i].detached(), DType::float64).to(state.device());
    dispatch_into(ops::kAffine, ops::AffineDescriptor{}, {&value}, places[i]);
  }
}

std::vector<double> StatefulMetric::merged(const std::vector<std::vector<double>>& states) const {
  std::vector<double> all;
  for (const MetricVariable& variable : state())
    for (int64_t i = 0; i < variable.shape.num_elements(); ++i)
      all.push_back(merged_element(states, all.size(), variable));
  return all;
}

std::vector<double> StatefulMetric::share_of(const std::vector<double>& state, int replica) const {
  if (replica == 0) return state;
  std::vector<double> share;
  for (const MetricVariable& variable : this->state())
    for (int64_t i = 0; i < variable.shape.num_elements(); ++i)
      share.push_back(variable.aggregation == StateAggregation::sum ? variable.initial : state[share.size()]);
  return share;
}

std::vector<double> StatefulMetric::results(const std::vector<double>& state) const {
  const Tensor flat = Tensor::from(state);
  return ops::cast(value(parts_of(flat, this->state())), DType::float64).to_vector<double>();
}

Tensor StatefulMetric::update(const Tensor&, const Tensor&, const Tensor&) const {
  throw StateError("metric " + detail::in_quotes(name()) +
                   " keeps a state that batches do not add to; update_state() takes one");
}

}  // namespace nyala
