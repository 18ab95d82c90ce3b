#include <nyala/api/metrics/base/mean_metric.h>
#include <nyala/api/metrics/base/values_metric.h>
#include <nyala/api/metrics/reduction/sum.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/reduction/metric_updates.h>

namespace nyala::metrics {

using namespace nyala::metrics::detail;

void SumConfig::fields(FieldVisitor&) {}

namespace {

class SumNode final : public MetricNode, public ValuesMetric {
 public:
  explicit SumNode(const SumConfig& config) : config_(config) {}
  std::string class_name() const override { return "Sum"; }
  std::string name() const override { return config_.name; }
  int64_t state_size() const override { return 1; }
  double result(const std::vector<double>& sums) const override { return sums[0]; }
  bool has_direction() const override { return false; }
  Tensor update(const Tensor& values, const Tensor& y_pred, const Tensor& sample_weight) const override {
    if (y_pred.defined())
      throw InvalidArgumentError(
          "Sum: expected values, and perhaps their weights, received y_true and y_pred");
    const Tensor weights =
        sample_weight.defined() ? fit_weights(sample_weight, values.shape(), name()) : sample_weight;
    return ops::sum_update(values, weights);
  }

 private:
  SumConfig config_;
};

}  // namespace

Sum::Sum(const Config& config) : Metric(std::make_shared<SumNode>(config)) {}

}  // namespace nyala::metrics
