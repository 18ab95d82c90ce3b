#include <algorithm>

#include <nyala/api/metrics/accuracy/sparse_top_k_categorical_accuracy.h>
#include <nyala/api/metrics/base/mean_metric.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/comparison.h>
#include <nyala/backend/ops/reduction/metric_updates.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/ops/shape/slice.h>

namespace nyala::metrics {

using namespace nyala::metrics::detail;

void SparseTopKCategoricalAccuracyConfig::fields(FieldVisitor& v) {
  v.field("k", k);
  v.field("from_sorted_ids", from_sorted_ids);
}

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
    if (!config_.from_sorted_ids) return ops::label_hits_update(labels, y_pred, weights, config_.k);
    return ops::mean_update(ops::cast(ops::any(among_first(labels, y_pred), {-1}), DType::float32), weights);
  }

 private:
  Tensor among_first(const Tensor& labels, const Tensor& ids) const {
    const int64_t classes = ids.shape().back(), kept = std::min(config_.k, classes);
    const Tensor first = ops::slice_axis(ids, -1, {.start = 0, .stop = kept});
    Shape column = ids.shape().slice(0, ids.rank() - 1);
    column.append(1);
    return ops::equal(ops::cast(labels, ids.dtype()).with_shape(column), first);
  }

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
