#pragma once

#include <mutex>

#include <nyala/api/metrics/metric.h>

namespace nyala::metrics {

/// A metric that is a mean over samples: the sums are the weighted total and the weights.
class MeanMetricNode : public MetricNode {
 public:
  explicit MeanMetricNode(std::string name) : name_(std::move(name)) {}
  std::string name() const override { return name_; }
  int64_t state_size() const override { return 2; }
  /// 0 before the first update, as in Keras.
  double result(const std::vector<double>& sums) const override {
    return sums[1] == 0.0 ? 0.0 : sums[0] / sums[1];
  }

 private:
  std::string name_;
};

/// Keras' automatic name of a class ("precision", "precision_1"), taken when first asked for.
class AutomaticName {
 public:
  AutomaticName(std::string given, std::string class_name)
      : name_(std::move(given)), class_name_(std::move(class_name)) {}
  const std::string& get() const;

 private:
  mutable std::string name_;
  std::string class_name_;
  mutable std::once_flag once_;
};

/// Sample weights as the ops of backend/ops/metric_updates.h want them for values of this shape: of a shape
/// with which it begins. Throws ShapeError naming `metric`.
Tensor fit_weights(const Tensor& weights, const Shape& values, const std::string& metric);

/// The mean of values that a loss or function gives for each sample.
std::shared_ptr<const MetricNode> make_loss_metric(const Loss& loss, const std::string& class_name,
                                                   std::string name, bool has_direction = true);

}  // namespace nyala::metrics
