#include <cmath>

#include <nyala/api/metrics/base/mean_metric.h>
#include <nyala/api/metrics/regression/root_mean_squared_error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/reduction/metric_updates.h>

namespace nyala::metrics {

using namespace nyala::detail;
using namespace nyala::metrics::detail;

void RootMeanSquaredErrorConfig::fields(FieldVisitor&) {}

namespace {

class RootMeanSquaredErrorNode final : public MeanMetricNode {
 public:
  explicit RootMeanSquaredErrorNode(const RootMeanSquaredErrorConfig& config)
      : MeanMetricNode(config.name), config_(config) {}
  std::string class_name() const override { return "RootMeanSquaredError"; }
  bool counts_masks() const override { return false; }
  void fields(FieldVisitor& v) const override {
    auto shown = config_;
    shown.fields(v);
  }
  Tensor update(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) const override {
    const auto [target, prediction] = fit_ranks(ops::cast(y_true, y_pred.dtype()), y_pred);
    const Tensor squares = ops::squared_difference(target, prediction);
    const Tensor weights =
        sample_weight.defined() ? fit_weights(sample_weight, squares.shape(), name()) : sample_weight;
    return ops::mean_update(squares, weights);
  }
  double result(const std::vector<double>& sums) const override {
    return std::sqrt(MeanMetricNode::result(sums));
  }

 private:
  RootMeanSquaredErrorConfig config_;
};

}  // namespace

RootMeanSquaredError::RootMeanSquaredError(const Config& config)
    : Metric(std::make_shared<RootMeanSquaredErrorNode>(config)) {}

}  // namespace nyala::metrics
