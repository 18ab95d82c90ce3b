#include <algorithm>

#include <nyala/api/metrics/confusion_metric.h>
#include <nyala/api/metrics/mean_metric.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/concatenate.h>
#include <nyala/backend/ops/metric_updates.h>
#include <nyala/backend/ops/shape.h>

namespace nyala::metrics {

namespace {

constexpr double kAnyScore = -1e10;  // Keras' stand-in for minus infinity

void check(const ConfusionMetricOptions& options) {
  for (double threshold : options.thresholds)
    if (!(threshold >= 0.0 && threshold <= 1.0))
      throw InvalidArgumentError(options.class_name + ": expected thresholds in [0, 1], received " +
                                 std::to_string(threshold));
  if (options.top_k < 0)
    throw InvalidArgumentError(options.class_name + ": expected top_k >= 1 (or 0: all), received " +
                               std::to_string(options.top_k));
  if (options.class_id < -1)
    throw InvalidArgumentError(options.class_name + ": expected class_id >= 0, received " +
                               std::to_string(options.class_id));
}

class ConfusionMetricNode final : public MetricNode {
 public:
  explicit ConfusionMetricNode(ConfusionMetricOptions options)
      : options_(std::move(options)), name_(options_.name, options_.class_name) {
    check(options_);
    if (options_.thresholds.empty()) options_.thresholds = {options_.top_k > 0 ? kAnyScore : 0.5};
  }
  std::string class_name() const override { return options_.class_name; }
  std::string name() const override { return name_.get(); }
  void fields(FieldVisitor& v) const override { options_.fields(v); }
  bool larger_is_better() const override { return true; }
  int64_t state_size() const override { return 2 * static_cast<int64_t>(options_.thresholds.size()); }

  Tensor update(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) const override {
    const auto [prediction, target] = fit_ranks(y_pred, y_true);
    const Tensor weights =
        sample_weight.defined() ? fit_weights(sample_weight, prediction.shape(), name()) : sample_weight;
    Tensors parts;
    for (size_t first = 0; first < options_.thresholds.size();
         first += ops::ConfusionDescriptor::kMaxThresholds)
      parts.push_back(ops::confusion_update(target, prediction, weights, descriptor(first)));
    return parts.size() == 1 ? parts.front() : ops::concatenate(parts, 0);
  }

  double result(const std::vector<double>& sums) const override { return results(sums).front(); }
  std::vector<double> results(const std::vector<double>& sums) const override {
    std::vector<double> values;
    for (size_t i = 0; i + 1 < sums.size(); i += 2) {
      const double all = sums[i] + sums[i + 1];
      values.push_back(all == 0.0 ? 0.0 : sums[i] / all);
    }
    return values;
  }

 private:
  ops::ConfusionDescriptor descriptor(size_t first) const {
    ops::ConfusionDescriptor d;
    const size_t count =
        std::min(options_.thresholds.size() - first, ops::ConfusionDescriptor::kMaxThresholds);
    for (size_t i = 0; i < count; ++i) d.thresholds[i] = static_cast<float>(options_.thresholds[first + i]);
    d.num_thresholds = static_cast<int32_t>(count);
    d.top_k = static_cast<int32_t>(options_.top_k);
    d.class_id = static_cast<int32_t>(options_.class_id);
    d.missed = options_.missed;
    return d;
  }

  ConfusionMetricOptions options_;
  AutomaticName name_;
};

}  // namespace

std::shared_ptr<const MetricNode> make_confusion_metric(ConfusionMetricOptions options) {
  return std::make_shared<ConfusionMetricNode>(std::move(options));
}

}  // namespace nyala::metrics
