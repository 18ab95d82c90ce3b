#include <nyala/api/metrics/base/mean_metric.h>
#include <nyala/api/metrics/base/values_metric.h>
#include <nyala/api/metrics/reduction/mean.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/comparison.h>
#include <nyala/backend/ops/reduction/metric_updates.h>
#include <nyala/backend/parameters/call.h>
#include <nyala/backend/runtime/context.h>

namespace nyala::metrics {

using namespace nyala::detail;
using namespace nyala::metrics::detail;

void MeanConfig::fields(FieldVisitor&) {}

namespace {

/// What a scalar counts for: once, as in Keras. A replica's in a step is a mean over its rows, and its share
/// of them counts.
double share_of_step(const std::string& metric, bool has_weight) {
  const ThreadContext& thread = thread_context();
  const Call* const call = thread.running ? thread.running->call : nullptr;
  if (call && call->options().global_rows > 0)
    return static_cast<double>(call->options().rows) / static_cast<double>(call->options().global_rows);
  if (!thread.replica || has_weight) return 1.0;
  throw InvalidArgumentError(
      "metric " + in_quotes(metric) +
      ": inside a Strategy::run of one's own expected values of rows, or a scalar, the mean of this "
      "replica's rows, with their number as its weight: update_state(mean, rows); received a scalar alone");
}

/// A weight of 0 leaves out a scalar that is no number, the mean over no rows.
Tensor of_scalar(const Tensor& value, const Tensor& weight, double share) {
  if (share == 0.0) return Tensor::zeros({2}, DType::float64, value.device());
  if (!weight.defined())
    return share == 1.0 ? ops::mean_update(value)
                        : ops::mean_update(value, Tensor::full({}, share, DType::float64, value.device()));
  const Tensor counts = ops::not_equal(weight, ops::zeros_like(weight));
  return ops::mean_update(ops::where(counts, value, ops::zeros_like(value)), weight * share);
}

class MeanNode final : public MeanMetricNode, public ValuesMetric {
 public:
  explicit MeanNode(const MeanConfig& config) : MeanMetricNode(config.name), config_(config) {}
  std::string class_name() const override { return "Mean"; }
  bool counts_masks() const override { return false; }
  void fields(FieldVisitor& v) const override {
    auto shown = config_;
    shown.fields(v);
  }
  Tensor update(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) const override {
    if (y_pred.defined())
      throw InvalidArgumentError(
          "Mean: expected values, and perhaps their weights, received y_true and y_pred");
    const Tensor weights =
        sample_weight.defined() ? fit_weights(sample_weight, y_true.shape(), name()) : sample_weight;
    return y_true.rank() == 0 ? of_scalar(y_true, weights, share_of_step(name(), weights.defined()))
                              : ops::mean_update(y_true, weights);
  }
  bool has_direction() const override { return false; }

 private:
  MeanConfig config_;
};

}  // namespace

Mean::Mean(const Config& config) : Metric(std::make_shared<MeanNode>(config)) {}

}  // namespace nyala::metrics
