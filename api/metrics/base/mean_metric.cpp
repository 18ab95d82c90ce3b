// A mean is two sums that batches and replicas add to, values and weights. A function that gives one number
// for its rows counts by them; one that is no mean over rows is computed from the rows of all replicas, and
// one of them lets it count.
#include <nyala/api/base/names.h>
#include <nyala/api/metrics/base/mean_metric.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/replica_exchange.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/reduction/metric_updates.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/ops/shape/concatenate.h>
#include <nyala/backend/ops/shape/shape.h>
#include <nyala/backend/runtime/collectives.h>
#include <nyala/backend/runtime/context.h>

namespace nyala::metrics {

using namespace nyala::detail;
using namespace nyala::metrics::detail;

namespace {

bool begins(const Shape& values, const Shape& weights) {
  return weights.rank() <= values.rank() && values.slice(0, weights.rank()) == weights;
}

/// Weights with axes of size 1 behind, so that they broadcast to values from the front.
Tensor aligned(const Tensor& weights, int rank) {
  Shape shape = weights.shape();
  while (shape.rank() < rank) shape.append(1);
  return weights.with_shape(shape);
}

Tensor nothing(const Tensor& y_pred) { return Tensor::zeros({2}, DType::float64, y_pred.device()); }

Tensor counted(const Tensor& value, const Tensor& weight) {
  return ops::mean_update(value.with_shape({1}), weight.with_shape({1}));
}

/// What the mean of this replica's `rows` counts where rows have weights: the mean of all rows would spread
/// over them and count by their sum, so each replica's mean counts by its share of the rows in that.
Tensor share_of_weights(const Tensor& weights, int64_t rows) {
  const Tensor sum = ops::sum(ops::cast(weights, DType::float64));
  Collectives* const replica = thread_context().replica;
  if (!replica) return sum;
  const double own = static_cast<double>(rows);
  const Tensor all =
      replica->all_reduce_sum(ops::stack({sum, Tensor::full({}, own, DType::float64, weights.device())}, 0));
  return all[0] * (own / all[1]);
}

/// A scalar that is the mean over the rows of `y_pred` counts by them, or by their weights.
Tensor mean_of_rows(const Tensor& value, const Tensor& y_pred, const Tensor& sample_weight) {
  const int64_t rows = y_pred.rank() > 0 ? y_pred.shape()[0] : 1;
  const Tensor weight = sample_weight.defined()
                            ? share_of_weights(sample_weight, rows)
                            : Tensor::full({}, static_cast<double>(rows), value.dtype(), y_pred.device());
  return rows > 0 ? counted(value, ops::cast(weight, value.dtype())) : nothing(y_pred);
}

/// A scalar that is no mean over rows counts once (as in Keras), or by the weights (which Keras refuses).
Tensor once(const Tensor& value, const Tensor& sample_weight) {
  return counted(value, sample_weight.defined() ? ops::sum(ops::cast(sample_weight, value.dtype()))
                                                : Tensor::full({}, 1.0, value.dtype(), value.device()));
}

/// Several replicas can join values of rows only.
void check_values_of_rows(const Tensor& values, const Tensor& y_pred, const std::string& metric) {
  if (!thread_context().replica || y_pred.rank() == 0 || values.shape()[0] == y_pred.shape()[0]) return;
  throw InvalidArgumentError(
      "metric " + in_quotes(metric) + ": under several replicas expected a value for each of " +
      std::to_string(y_pred.shape()[0]) + " rows or a scalar, their mean, received shape " +
      values.shape().to_string() +
      "; one that is no mean over rows is made with {.rows_are_independent = false}, or is a StatefulMetric");
}

class LossMetricNode final : public MeanMetricNode {
 public:
  explicit LossMetricNode(LossMetricOptions options)
      : MeanMetricNode(options.name), options_(std::move(options)) {}
  std::string class_name() const override { return options_.class_name; }
  void fields(FieldVisitor& v) const override {
    options_.fields ? options_.fields(v) : options_.loss.node().fields(v);
  }
  bool larger_is_better() const override { return options_.direction == Direction::larger; }
  bool has_direction() const override { return options_.direction != Direction::unknown; }
  const Loss* loss() const override { return &options_.loss; }

  Tensor update(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) const override {
    if (options_.loss.node().rows_are_independent()) return update_of_rows(y_true, y_pred, sample_weight);
    const Collectives* const replica = thread_context().replica;
    const Tensor target = of_all_replicas(y_true), prediction = of_all_replicas(y_pred),
                 weights = of_all_replicas(sample_weight);
    // It is the batch's value, and one replica lets it count.
    if (replica && replica->replica_id() > 0) return nothing(y_pred);
    return update_of_rows(target, prediction, weights);
  }

 private:
  Tensor update_of_rows(const Tensor& given, const Tensor& predicted, const Tensor& sample_weight) const {
    const LossNode& loss = options_.loss.node();
    const auto [y_true, y_pred] =
        options_.casts ? in_loss_dtype(loss, given, predicted) : std::pair(given, predicted);
    const Tensor values = values_of(loss, y_true, y_pred);
    if (values.rank() == 0)
      return loss.rows_are_independent() ? mean_of_rows(values, y_pred, sample_weight)
                                         : once(values, sample_weight);
    if (loss.rows_are_independent()) check_values_of_rows(values, y_pred, name());
    if (!sample_weight.defined()) return ops::mean_update(values);
    Tensor weights = fit_weights(sample_weight, values.shape(), name());
    // Keras takes the mask of ignored classes into account only where there are weights.
    if (const Tensor mask = loss.valid_mask(y_true, y_pred); mask.defined())
      weights = aligned(weights, values.rank()) * ops::cast(mask, weights.dtype()).with_shape(values.shape());
    return ops::mean_update(values, weights);
  }

  Tensor values_of(const LossNode& loss, const Tensor& y_true, const Tensor& y_pred) const {
    try {
      return loss.per_sample(y_true, y_pred);
    } catch (const ShapeError&) {
      rethrow_with_prefix("metric " + in_quotes(name()) + " of y_true " + y_true.shape().to_string() +
                          " and y_pred " + y_pred.shape().to_string() + ": ");
    }
  }

  LossMetricOptions options_;
};

}  // namespace

const std::string& AutomaticName::get() const {
  const std::lock_guard lock(mutex_);
  if (name_.empty()) name_ = unique_name(class_name_);
  return name_;
}

Tensor detail::fit_weights(const Tensor& weights, const Shape& values, const std::string& metric) {
  Tensor fitted = is_floating(weights.dtype()) ? weights : ops::cast(weights, DType::float32);
  while (fitted.rank() > 0 && !begins(values, fitted.shape()) && fitted.shape().back() == 1)
    fitted = ops::squeeze(fitted, {-1});
  if (fitted.rank() == 0 && values.rank() > 0)  // holds for each row
    return fitted * Tensor::full(values.slice(0, 1), 1.0, fitted.dtype(), fitted.device());
  if (begins(values, fitted.shape())) return fitted;
  const bool broadcasts = fitted.rank() <= values.rank();
  if (broadcasts) {
    const Shape wanted = values.slice(0, fitted.rank());
    const Tensor spread = fitted * Tensor::full(wanted, 1.0, fitted.dtype(), fitted.device());
    if (spread.shape() == wanted) return spread;
  }
  throw ShapeError("metric " + in_quotes(metric) + ": sample weights " + weights.shape().to_string() +
                   " do not fit values of shape " + values.to_string());
}

Tensor detail::of_all_replicas(const Tensor& x) {
  return x.defined() ? ops::detail::replica_all_gather(x, thread_context().replica) : x;
}

std::shared_ptr<const MetricNode> detail::make_loss_metric(LossMetricOptions options) {
  return std::make_shared<LossMetricNode>(std::move(options));
}

}  // namespace nyala::metrics
