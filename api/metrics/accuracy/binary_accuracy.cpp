#include <nyala/api/metrics/accuracy/binary_accuracy.h>
#include <nyala/api/metrics/base/mean_metric.h>
#include <nyala/backend/ops/reduction/metric_updates.h>

namespace nyala::metrics {

using namespace nyala::detail;
using namespace nyala::metrics::detail;

void BinaryAccuracyConfig::fields(FieldVisitor& v) { v.field("threshold", threshold); }

namespace {

class BinaryAccuracyNode final : public MeanMetricNode {
 public:
  explicit BinaryAccuracyNode(const BinaryAccuracyConfig& config)
      : MeanMetricNode(config.name), config_(config) {}
  std::string class_name() const override { return "BinaryAccuracy"; }
  void fields(FieldVisitor& v) const override {
    auto shown = config_;
    shown.fields(v);
  }
  bool larger_is_better() const override { return true; }
  Tensor update(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) const override {
    const auto [target, prediction] = fit_ranks(y_true, y_pred);
    const Tensor weights =
        sample_weight.defined() ? fit_weights(sample_weight, prediction.shape(), name()) : sample_weight;
    return ops::match_update(target, prediction, weights, config_.threshold);
  }

 private:
  BinaryAccuracyConfig config_;
};

}  // namespace

BinaryAccuracy::BinaryAccuracy(const Config& config) : Metric(std::make_shared<BinaryAccuracyNode>(config)) {}

}  // namespace nyala::metrics
