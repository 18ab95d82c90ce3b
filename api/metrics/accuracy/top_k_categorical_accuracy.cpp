#include <nyala/api/metrics/accuracy/top_k_categorical_accuracy.h>
#include <nyala/api/metrics/base/mean_metric.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/reduction/arg_reduction.h>
#include <nyala/backend/ops/reduction/metric_updates.h>

namespace nyala::metrics {

using namespace nyala::metrics::detail;

void TopKCategoricalAccuracyConfig::fields(FieldVisitor& v) { v.field("k", k); }

namespace {

class TopKCategoricalAccuracyNode final : public MeanMetricNode {
 public:
  explicit TopKCategoricalAccuracyNode(const TopKCategoricalAccuracyConfig& config)
      : MeanMetricNode(config.name), config_(config) {
    if (config.k < 1)
      throw InvalidArgumentError("TopKCategoricalAccuracy: expected k >= 1, received " +
                                 std::to_string(config.k));
  }
  std::string class_name() const override { return "TopKCategoricalAccuracy"; }
  void fields(FieldVisitor& v) const override {
    auto shown = config_;
    shown.fields(v);
  }
  bool larger_is_better() const override { return true; }
  Tensor update(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) const override {
    if (y_true.shape() != y_pred.shape())
      throw ShapeError("TopKCategoricalAccuracy: expected y_true and y_pred of one shape, received " +
                       y_true.shape().to_string() + " and " + y_pred.shape().to_string());
    const Tensor labels = ops::argmax(y_true, -1);
    const Shape rows = y_pred.shape().slice(0, y_pred.rank() - 1);
    const Tensor weights = sample_weight.defined() ? fit_weights(sample_weight, rows, name()) : sample_weight;
    return ops::label_hits_update(labels, y_pred, weights, config_.k);
  }

 private:
  TopKCategoricalAccuracyConfig config_;
};

}  // namespace

TopKCategoricalAccuracy::TopKCategoricalAccuracy(const Config& config)
    : Metric(std::make_shared<TopKCategoricalAccuracyNode>(config)) {}

TopKCategoricalAccuracy::TopKCategoricalAccuracy(int64_t k, Config config)
    : TopKCategoricalAccuracy([&] {
        config.k = k;
        return config;
      }()) {}

}  // namespace nyala::metrics
