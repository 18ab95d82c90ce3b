#pragma once

#include <string>
#include <vector>

#include <nyala/api/metrics/base/metric.h>
#include <nyala/backend/core/shape.h>

namespace nyala {

/// How the parts that replicas keep of one tensor of state become one.
enum class StateAggregation { sum, mean, max, min, only_first_replica };

/// A tensor of a metric's state, in float64.
struct MetricVariable {
  std::string name;
  Shape shape = {};
  StateAggregation aggregation = StateAggregation::sum;
  /// Of each element before the first batch. Under `sum` it counts once, however many replicas there are.
  double initial = 0.0;
};

/// Base of a metric with any state. Each replica keeps its own and takes its rows of each batch into it;
/// parts become one, as `state()` says, when the result is read and when a checkpoint goes on with another
/// number of replicas. With sum, max and min of rows that is one device's result; mean and only_first_replica
/// are the named exceptions. Derive:
///
///     struct Range : StatefulMetric {
///       std::string class_name() const override { return "Range"; }
///       std::string name() const override { return "range"; }
///       std::vector<MetricVariable> state() const override {
///         return {{"high", {}, StateAggregation::max, -1e30}, {"low", {}, StateAggregation::min, 1e30}};
///       }
///       Tensors updated(const Tensors& s, const Tensor&, const Tensor& y_pred, const Tensor&) const override
///       {
///         return {ops::maximum(s[0], ops::max(y_pred)), ops::minimum(s[1], ops::min(y_pred))};
///       }
///       Tensor value(const Tensors& s) const override { return s[0] - s[1]; }
///     };
class StatefulMetric : public MetricNode {
 public:
  virtual std::vector<MetricVariable> state() const = 0;
  /// The state after a batch with at least one row, in the order and shapes of state(). On the batch's
  /// device; floating tensors come in float64; `sample_weight` may be undefined.
  virtual Tensors updated(const Tensors& state, const Tensor& y_true, const Tensor& y_pred,
                          const Tensor& sample_weight) const = 0;
  /// The metric of the state, which lies on the host: one number, or several.
  virtual Tensor value(const Tensors& state) const = 0;

  int64_t state_size() const final;
  std::vector<double> initial_state() const final;
  void update_state(const Tensor& state, const Tensor& y_true, const Tensor& y_pred,
                    const Tensor& sample_weight) const final;
  std::vector<double> merged(const std::vector<std::vector<double>>& states) const final;
  std::vector<double> share_of(const std::vector<double>& state, int replica) const final;
  double result(const std::vector<double>& state) const final { return results(state).front(); }
  std::vector<double> results(const std::vector<double>& state) const final;
  /// What it keeps is no sum: throws StateError.
  Tensor update(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) const final;
};

}  // namespace nyala
