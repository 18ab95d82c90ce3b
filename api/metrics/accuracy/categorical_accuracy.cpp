#include <nyala/api/metrics/accuracy/categorical_accuracy.h>
#include <nyala/api/metrics/base/mean_metric.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/reduction/arg_reduction.h>
#include <nyala/backend/ops/reduction/metric_updates.h>

namespace nyala::metrics {

using namespace nyala::metrics::detail;

void CategoricalAccuracyConfig::fields(FieldVisitor&) {}

namespace {

class CategoricalAccuracyNode final : public MeanMetricNode {
 public:
  explicit CategoricalAccuracyNode(const CategoricalAccuracyConfig& config)
      : MeanMetricNode(config.name), config_(config) {}
  std::string class_name() const override { return "CategoricalAccuracy"; }
  void fields(FieldVisitor& v) const override {
    auto shown = config_;
    shown.fields(v);
  }
  bool larger_is_better() const override { return true; }
  Tensor update(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) const override {
    if (y_true.shape() != y_pred.shape())
      throw ShapeError("CategoricalAccuracy: expected y_true and y_pred of one shape, received " +
                       y_true.shape().to_string() + " and " + y_pred.shape().to_string());
    const Tensor labels = ops::argmax(y_true, -1);
    const Shape rows = y_pred.shape().slice(0, y_pred.rank() - 1);
    const Tensor weights = sample_weight.defined() ? fit_weights(sample_weight, rows, name()) : sample_weight;
    return ops::label_hits_update(labels, y_pred, weights);
  }

 private:
  CategoricalAccuracyConfig config_;
};

}  // namespace

CategoricalAccuracy::CategoricalAccuracy(const Config& config)
    : Metric(std::make_shared<CategoricalAccuracyNode>(config)) {}

}  // namespace nyala::metrics
