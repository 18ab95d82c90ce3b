// The area under a curve of (x, y) at the thresholds, by Riemann sums with the mean, the smaller or the
// larger height of each step. For PR "interpolation" is Davis and Goadrich's (2006): between thresholds true
// positives grow linearly with all positives, and so the precision does not; the integral has a logarithm. As
// Keras' AUC.
#include <algorithm>
#include <cmath>

#include <nyala/api/metrics/confusion/auc.h>
#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/activation.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>

namespace nyala::metrics {

using namespace nyala::detail;
using namespace nyala::metrics::detail;

void AUCConfig::fields(FieldVisitor& v) {
  v.field("num_thresholds", num_thresholds);
  v.field("curve", curve);
  v.field("summation_method", summation_method);
  v.field("thresholds", thresholds);
  v.field("multi_label", multi_label);
  v.optional("num_labels", num_labels, 0);
  v.field("label_weights", label_weights);
  v.field("from_logits", from_logits);
}

namespace {

struct Point {
  double x, y;
};

Point roc_point(const ConfusionCounts& c) {
  return {ratio(c.false_positives, c.false_positives + c.true_negatives), c.recall()};
}

Point pr_point(const ConfusionCounts& c) { return {c.recall(), c.precision()}; }

Point gain_point(const ConfusionCounts& c) {
  if (c.true_positives == 0.0) return {0.0, 1.0};
  const double scale = ratio(c.true_positives + c.false_negatives, c.true_negatives + c.false_positives);
  return {std::max(1.0 - scale * ratio(c.false_negatives, c.true_positives), 0.0),
          1.0 - scale * ratio(c.false_positives, c.true_positives)};
}

double height(const std::string& method, double a, double b) {
  if (method == "minoring") return std::min(a, b);
  return method == "majoring" ? std::max(a, b) : (a + b) / 2.0;
}

/// Between two thresholds the true positives grow linearly with the predicted positives.
double interpolated_precision_area(const ConfusionCurve& curve) {
  double area = 0.0;
  for (size_t i = 0; i + 1 < curve.size(); ++i) {
    const ConfusionCounts &a = curve[i], &b = curve[i + 1];
    const double predicted_a = a.true_positives + a.false_positives,
                 predicted_b = b.true_positives + b.false_positives;
    const double more = a.true_positives - b.true_positives;
    const double slope = ratio(more, std::max(predicted_a - predicted_b, 0.0));
    const double intercept = b.true_positives - slope * predicted_b;
    const double grown = predicted_a > 0.0 && predicted_b > 0.0 ? predicted_a / predicted_b : 1.0;
    area += ratio(slope * (more + intercept * std::log(grown)),
                  std::max(b.true_positives + b.false_negatives, 0.0));
  }
  return area;
}

double area(const AUCConfig& config, const ConfusionCurve& curve) {
  if (config.curve == "PR" && config.summation_method == "interpolation")
    return interpolated_precision_area(curve);
  const auto point = config.curve == "ROC" ? roc_point : config.curve == "PR" ? pr_point : gain_point;
  double sum = 0.0;
  for (size_t i = 0; i + 1 < curve.size(); ++i) {
    const Point a = point(curve[i]), b = point(curve[i + 1]);
    sum += (a.x - b.x) * height(config.summation_method, a.y, b.y);
  }
  return sum;
}

/// The one of `known` that is `text` in any case of letters.
std::string chosen(const char* what, std::string text, const std::vector<std::string>& known) {
  for (const std::string& one : known)
    if (lower_case(one) == lower_case(text)) return one;
  throw InvalidArgumentError(std::string("AUC: unknown ") + what + " " + in_quotes(text) +
                             did_you_mean(text, known) + ": expected one of " + quoted_list(known));
}

AUCConfig checked(AUCConfig config) {
  config.curve = chosen("curve", config.curve, {"ROC", "PR", "PRGAIN"});
  config.summation_method =
      chosen("summation_method", config.summation_method, {"interpolation", "majoring", "minoring"});
  if (config.num_labels != 0 && !config.multi_label)
    throw InvalidArgumentError("AUC: num_labels is for multi_label only");
  if (config.thresholds.empty() && config.num_thresholds < 2)
    throw InvalidArgumentError("AUC: expected num_thresholds >= 2, received " +
                               std::to_string(config.num_thresholds));
  std::sort(config.thresholds.begin(), config.thresholds.end());
  if (!config.thresholds.empty()) config.num_thresholds = static_cast<int64_t>(config.thresholds.size()) + 2;
  return config;
}

ConfusionMetricOptions counted(const AUCConfig& config) {
  std::vector<double> all = config.thresholds;
  all.insert(all.begin(), 0.0);
  all.push_back(1.0);
  const bool even = config.thresholds.empty() || evenly_distributed(all);
  all.front() -= 1e-7;
  all.back() += 1e-7;
  return {.class_name = "AUC",
          .name = config.name,
          .thresholds = even ? std::vector<double>() : all,
          .even_thresholds = even ? config.num_thresholds : 0,
          .values = {},
          .fields = [config](FieldVisitor& v) { AUCConfig(config).fields(v); }};
}

class AUCNode final : public ConfusionMetricNode {
 public:
  AUCNode(const AUCConfig& config, int64_t labels)
      : ConfusionMetricNode(counted(config)), config_(config), labels_(labels) {}

  int64_t state_size() const override { return ConfusionMetricNode::state_size() * labels_; }

  std::shared_ptr<const MetricNode> for_shapes(const Shape&, const Shape& y_pred) const override {
    if (!config_.multi_label) return nullptr;
    if (y_pred.rank() != 2)
      throw ShapeError("metric " + in_quotes(name()) +
                       ": with multi_label expected y_pred (batch, labels), received " + y_pred.to_string());
    for (const int64_t given : {config_.num_labels, static_cast<int64_t>(config_.label_weights.size())})
      if (given != 0 && given != y_pred[1])
        throw ShapeError("metric " + in_quotes(name()) + ": expected y_pred with " + std::to_string(given) +
                         " labels, received " + y_pred.to_string());
    AUCConfig config = config_;
    config.name = name();
    return std::make_shared<AUCNode>(config, y_pred[1]);
  }

  Tensor update(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) const override {
    const auto [scores, target] = fit_ranks(y_pred, y_true);
    const Tensor prediction = config_.from_logits ? ops::sigmoid(scores) : scores;
    ops::ConfusionDescriptor descriptor;
    descriptor.open_ends = true;
    descriptor.by_label = config_.multi_label;
    return counts(target, prediction, weights(sample_weight, prediction), descriptor);
  }

  std::vector<double> results(const std::vector<double>& sums) const override {
    double total = 0.0, weight_sum = 0.0;
    for (int64_t label = 0; label < labels_; ++label) {
      const bool weighted = config_.multi_label && !config_.label_weights.empty();
      const double weight = weighted ? config_.label_weights[static_cast<size_t>(label)] : 1.0;
      total += weight * area(config_, curve_of(sums, label));
      weight_sum += weight;
    }
    return {ratio(total, weight_sum)};
  }

 private:
  ConfusionCurve curve_of(const std::vector<double>& sums, int64_t label) const {
    ConfusionCurve curve;
    for (int64_t t = 0; t < num_thresholds(); ++t) {
      const double* at = sums.data() + (t * labels_ + label) * ops::kConfusionCounts;
      curve.push_back({at[0], at[1], at[2], at[3]});
    }
    return curve;
  }

  Tensor weights(const Tensor& of_samples, const Tensor& prediction) const {
    const Shape& shape = prediction.shape();
    Tensor fitted = of_samples.defined() ? fit_weights(of_samples, shape, name()) : of_samples;
    if (config_.multi_label || config_.label_weights.empty()) return fitted;
    const int64_t labels = static_cast<int64_t>(config_.label_weights.size());
    if (shape.rank() < 1 || shape.back() != labels)
      throw ShapeError("metric " + in_quotes(name()) + ": " + std::to_string(labels) +
                       " label weights do not fit y_pred " + shape.to_string());
    const Tensor of_labels = Tensor::from(config_.label_weights, {labels}, prediction.device());
    const Tensor each = of_labels * Tensor::full(shape, 1.0, DType::float64, prediction.device());
    if (!fitted.defined()) return each;
    Shape aligned = fitted.shape();
    while (aligned.rank() < shape.rank()) aligned.append(1);
    return each * ops::cast(fitted, DType::float64).with_shape(aligned);
  }

  AUCConfig config_;
  int64_t labels_;
};

}  // namespace

AUC::AUC(const Config& config) : Metric(std::make_shared<AUCNode>(checked(config), 1)) {}

}  // namespace nyala::metrics
