#pragma once

#include <functional>

#include <nyala/api/metrics/base/metric.h>
#include <nyala/backend/core/mutex.h>

namespace nyala::metrics {

/// A metric that is a mean over samples: the sums are the weighted total and the weights.
class MeanMetricNode : public MetricNode {
 public:
  explicit MeanMetricNode(std::string name) : name_(std::move(name)) {}
  std::string name() const override { return name_; }
  int64_t state_size() const override { return 2; }
  /// True if the mask of the predictions (api/layers/base/mask.h) weighs the samples; what trains multiplies
  /// it in.
  virtual bool counts_masks() const { return true; }
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
  mutable Mutex mutex_{Mutex::AtFork::is_waited};
  mutable std::string name_;
  std::string class_name_;
};

namespace detail {

/// Sample weights as the ops of backend/ops/reduction/metric_updates.h want them for values of this shape: of
/// a shape with which it begins. Throws ShapeError naming `metric`.
Tensor fit_weights(const Tensor& weights, const Shape& values, const std::string& metric);

/// The rows of all replicas behind each other; x where there is one, and undefined where x is. Replicas come
/// all, with the same tensors in the same order.
Tensor of_all_replicas(const Tensor& x);

}  // namespace detail

/// Which way a metric gets better.
enum class Direction { smaller, larger, unknown };

/// What a metric that is the mean of a loss' or function's values for each sample has.
struct LossMetricOptions {
  Loss loss;
  std::string class_name;
  std::string name;
  Direction direction = Direction::smaller;
  std::function<void(FieldVisitor&)> fields = {};  // empty: those of the loss
  bool casts = true;  // whether the loss gets what in_loss_dtype() makes; Keras' metric functions do not
};

namespace detail {

std::shared_ptr<const MetricNode> make_loss_metric(LossMetricOptions options);

/// The same for a metric class with a Config.
template <class Config>
std::shared_ptr<const MetricNode> make_loss_metric(const char* class_name, const Config& config, Loss loss,
                                                   Direction direction = Direction::smaller) {
  return make_loss_metric({.loss = std::move(loss),
                           .class_name = class_name,
                           .name = config.name,
                           .direction = direction,
                           .fields = [config](FieldVisitor& v) { Config(config).fields(v); }});
}

}  // namespace detail

}  // namespace nyala::metrics
