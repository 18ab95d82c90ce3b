#include <nyala/api/metrics/mean_metric.h>
#include <nyala/api/metrics/sparse_top_k_categorical_accuracy.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/metric_updates.h>

namespace nyala::metrics {

void SparseTopKCategoricalAccuracyConfig::fields(FieldVisitor& v) { v.field("k", k); }

namespace {

class SparseTopKCategoricalAccuracyNode final : public MeanMetricNode {
 public:
  explicit SparseTopKCategoricalAccuracyNode(const SparseTopKCategoricalAccuracyConfig& config)
      : MeanMetricNode(config.name), config_(config) {
    if (config.k < 1)
      throw InvalidArgumentError("SparseTopKCategoricalAccuracy: expected k >= 1, received " +
                                 std::to_string(config.k));
  }
  std::string class_name() const override { return "SparseTopKCategoricalAccuracy"; }
  void fields(FieldVisitor& v) const override {
    auto shown = config_;
    shown.fields(v);
  }
  bool larger_is_better() const override { return true; }
  Tensor update(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) const override {
    const Tensor& labels = y_true;
    const Shape rows = y_pred.shape().slice(0, y_pred.rank() - 1);
    const Tensor weights = sample_weight.defined() ? fit_weights(sample_weight, rows, name()) : sample_weight;
    return ops::label_hits_update(labels, y_pred, weights, config_.k);
  }

 private:
  SparseTopKCategoricalAccuracyConfig config_;
};

}  // namespace

SparseTopKCategoricalAccuracy::SparseTopKCategoricalAccuracy(const Config& config)
    : Metric(std::make_shared<SparseTopKCategoricalAccuracyNode>(config)) {}

SparseTopKCategoricalAccuracy::SparseTopKCategoricalAccuracy(int64_t k, Config config)
    : SparseTopKCategoricalAccuracy([&] {
        config.k = k;
        return config;
      }()) {}

}  // namespace nyala::metrics
