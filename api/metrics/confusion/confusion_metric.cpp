// Evenly spaced thresholds are recognized, as in Keras' metrics_utils: the op then computes a value's bucket
// instead of comparing it with each threshold. Other thresholds are compared one by one, in blocks of
// kMaxThresholds, since the op's descriptor has a fixed size.
#include <algorithm>
#include <cmath>

#include <nyala/api/metrics/confusion/confusion_metric.h>
#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/to_int.h>
#include <nyala/backend/ops/shape/concatenate.h>

namespace nyala::metrics {

using namespace nyala::detail;
using namespace nyala::metrics::detail;

namespace {

constexpr double kAnyScore = -1e10;  // Keras' stand-in for minus infinity

void check(const ConfusionMetricOptions& options) {
  if (options.top_k < 0)
    throw InvalidArgumentError(options.class_name + ": expected top_k >= 1 (or 0: all), received " +
                               std::to_string(options.top_k));
  if (options.class_id < 0 && options.class_id != kNoClass)
    throw InvalidArgumentError(options.class_name + ": expected class_id >= 0, received " +
                               std::to_string(options.class_id));
  to_int(options.top_k, options.class_name + ", top_k");
  to_int(options.even_thresholds, options.class_name + ", num_thresholds");
  if (options.class_id != kNoClass) to_int(options.class_id, options.class_name + ", class_id");
}

void check_thresholds(const char* class_name, const std::vector<double>& thresholds) {
  for (double threshold : thresholds)
    if (!(threshold >= 0.0 && threshold <= 1.0))
      throw InvalidArgumentError(std::string(class_name) + ": expected thresholds in [0, 1], received " +
                                 number_text(threshold));
}

}  // namespace

double detail::ratio(double part, double whole) { return whole == 0.0 ? 0.0 : part / whole; }

double ConfusionCounts::precision() const { return ratio(true_positives, true_positives + false_positives); }
double ConfusionCounts::recall() const { return ratio(true_positives, true_positives + false_negatives); }
double ConfusionCounts::specificity() const {
  return ratio(true_negatives, true_negatives + false_positives);
}

std::function<std::vector<double>(const ConfusionCurve&)> at_each(
    std::function<double(const ConfusionCounts&)> value) {
  return [value = std::move(value)](const ConfusionCurve& curve) {
    std::vector<double> values;
    for (const ConfusionCounts& counts : curve) values.push_back(value(counts));
    return values;
  };
}

bool detail::evenly_distributed(const std::vector<double>& thresholds) {
  const size_t count = thresholds.size();
  if (count < 3) return false;
  for (size_t i = 0; i < count; ++i) {
    const double even = static_cast<float>(i) / static_cast<float>(count - 1);
    if (std::abs(thresholds[i] - even) > 1e-7 + 1e-5 * even) return false;
  }
  return true;
}

ConfusionMetricNode::ConfusionMetricNode(ConfusionMetricOptions options)
    : options_(std::move(options)), name_(options_.name, options_.class_name) {
  check(options_);
  if (options_.even_thresholds == 0 && options_.thresholds.empty())
    options_.thresholds = {options_.top_k > 0 ? kAnyScore : 0.5};
  if (evenly_distributed(options_.thresholds))
    options_.even_thresholds = static_cast<int64_t>(options_.thresholds.size());
}

int64_t ConfusionMetricNode::num_thresholds() const {
  return options_.even_thresholds > 0 ? options_.even_thresholds
                                      : static_cast<int64_t>(options_.thresholds.size());
}

Tensor ConfusionMetricNode::counts(const Tensor& y_true, const Tensor& y_pred, const Tensor& weights,
                                   ops::ConfusionDescriptor shared) const {
  if (options_.even_thresholds > 0) {
    shared.even = true;
    shared.num_thresholds = static_cast<int32_t>(options_.even_thresholds);
    return ops::confusion_update(y_true, y_pred, weights, shared);
  }
  Tensors parts;
  const std::vector<double>& all = options_.thresholds;
  for (size_t first = 0; first < all.size(); first += ops::ConfusionDescriptor::kMaxThresholds) {
    const size_t count = std::min(all.size() - first, ops::ConfusionDescriptor::kMaxThresholds);
    for (size_t i = 0; i < count; ++i) shared.thresholds[i] = static_cast<float>(all[first + i]);
    shared.num_thresholds = static_cast<int32_t>(count);
    parts.push_back(ops::confusion_update(y_true, y_pred, weights, shared));
  }
  return parts.size() == 1 ? parts.front() : ops::concatenate(parts, 0);
}

Tensor ConfusionMetricNode::update(const Tensor& y_true, const Tensor& y_pred,
                                   const Tensor& sample_weight) const {
  if (!options_.missing.empty())
    throw InvalidArgumentError(options_.class_name + ": '" + options_.missing + "' must be given");
  const auto [prediction, target] = fit_ranks(y_pred, y_true);
  const Tensor weights =
      sample_weight.defined() ? fit_weights(sample_weight, prediction.shape(), name()) : sample_weight;
  ops::ConfusionDescriptor descriptor;
  descriptor.top_k = static_cast<int32_t>(options_.top_k);
  if (options_.class_id != kNoClass) descriptor.class_id = static_cast<int32_t>(options_.class_id);
  return counts(target, prediction, weights, descriptor);
}

std::vector<double> ConfusionMetricNode::results(const std::vector<double>& sums) const {
  ConfusionCurve curve;
  for (size_t i = 0; i + 3 < sums.size(); i += 4)
    curve.push_back({sums[i], sums[i + 1], sums[i + 2], sums[i + 3]});
  return options_.values(curve);
}

void PrecisionRecallConfig::fields(FieldVisitor& v) {
  v.field("thresholds", thresholds);
  v.optional("top_k", top_k, 0);
  v.optional("class_id", class_id, kNoClass);
}

Metric detail::make_precision_recall(const char* class_name, const PrecisionRecallConfig& config,
                             double (ConfusionCounts::*value)() const) {
  check_thresholds(class_name, config.thresholds);
  return Metric(std::make_shared<ConfusionMetricNode>(ConfusionMetricOptions{
      .class_name = class_name,
      .name = config.name,
      .thresholds = config.thresholds,
      .top_k = config.top_k,
      .class_id = config.class_id,
      .values = at_each([value](const ConfusionCounts& counts) { return (counts.*value)(); }),
      .fields = [config](FieldVisitor& v) { PrecisionRecallConfig(config).fields(v); }}));
}

void ConfusionCountConfig::fields(FieldVisitor& v) { v.field("thresholds", thresholds); }

Metric detail::make_confusion_count(const char* class_name, const ConfusionCountConfig& config,
                            double ConfusionCounts::*count) {
  check_thresholds(class_name, config.thresholds);
  return Metric(std::make_shared<ConfusionMetricNode>(ConfusionMetricOptions{
      .class_name = class_name,
      .name = config.name,
      .thresholds = config.thresholds,
      .has_direction = false,
      .values = at_each([count](const ConfusionCounts& counts) { return counts.*count; }),
      .fields = [config](FieldVisitor& v) { ConfusionCountConfig(config).fields(v); }}));
}

Metric detail::make_best_under_bound(BestUnderBound o) {
  const std::string class_name = o.class_name;
  if (!std::isnan(o.bound) && !(o.bound >= 0.0 && o.bound <= 1.0))
    throw InvalidArgumentError(class_name + ": expected " + o.bound_name + " in [0, 1], received " +
                               number_text(o.bound));
  if (o.num_thresholds < 1)
    throw InvalidArgumentError(class_name + ": expected num_thresholds >= 1, received " +
                               std::to_string(o.num_thresholds));
  // Compared in float32, as Keras does: a bound of 0.8 is met by 4 of 5.
  auto best = [bound = static_cast<float>(o.bound), bounded = o.bounded,
               wanted = o.wanted](const ConfusionCurve& curve) {
    double largest = 0.0;
    for (const ConfusionCounts& counts : curve)
      if (static_cast<float>((counts.*bounded)()) >= bound) largest = std::max(largest, (counts.*wanted)());
    return std::vector<double>{largest};
  };
  return Metric(std::make_shared<ConfusionMetricNode>(
      ConfusionMetricOptions{.class_name = class_name,
                             .name = o.name,
                             .even_thresholds = o.num_thresholds > 1 ? o.num_thresholds : 0,
                             .class_id = o.class_id,
                             .missing = std::isnan(o.bound) ? o.bound_name : "",
                             .values = std::move(best),
                             .fields = std::move(o.fields)}));
}

}  // namespace nyala::metrics
