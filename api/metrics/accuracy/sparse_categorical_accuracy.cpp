#include <nyala/api/metrics/accuracy/sparse_categorical_accuracy.h>
#include <nyala/api/metrics/base/mean_metric.h>
#include <nyala/backend/ops/reduction/metric_updates.h>

namespace nyala::metrics {

using namespace nyala::metrics::detail;

void SparseCategoricalAccuracyConfig::fields(FieldVisitor&) {}

namespace {

class SparseCategoricalAccuracyNode final : public MeanMetricNode {
 public:
  explicit SparseCategoricalAccuracyNode(const SparseCategoricalAccuracyConfig& config)
      : MeanMetricNode(config.name), config_(config) {}
  std::string class_name() const override { return "SparseCategoricalAccuracy"; }
  void fields(FieldVisitor& v) const override {
    auto shown = config_;
    shown.fields(v);
  }
  bool larger_is_better() const override { return true; }
  Tensor update(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) const override {
    const Tensor& labels = y_true;
    const Shape rows = y_pred.shape().slice(0, y_pred.rank() - 1);
    const Tensor weights = sample_weight.defined() ? fit_weights(sample_weight, rows, name()) : sample_weight;
    return ops::label_hits_update(labels, y_pred, weights);
  }

 private:
  SparseCategoricalAccuracyConfig config_;
};

}  // namespace

SparseCategoricalAccuracy::SparseCategoricalAccuracy(const Config& config)
    : Metric(std::make_shared<SparseCategoricalAccuracyNode>(config)) {}

}  // namespace nyala::metrics
