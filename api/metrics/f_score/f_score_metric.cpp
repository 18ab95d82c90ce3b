#include <cmath>

#include <nyala/api/losses/configured_loss.h>
#include <nyala/api/metrics/base/mean_metric.h>
#include <nyala/api/metrics/f_score/f_score_metric.h>
#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/comparison.h>
#include <nyala/backend/ops/elementwise/logical.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/ops/shape/concatenate.h>

namespace nyala::metrics {

using namespace nyala::detail;
using namespace nyala::metrics::detail;

namespace {

void check(const FScoreOptions& o) {
  const std::vector<std::string> averages = {"micro", "macro", "weighted"};
  if (!o.average.empty() && std::find(averages.begin(), averages.end(), o.average) == averages.end())
    throw InvalidArgumentError(std::string(o.class_name) + ": unknown average " + in_quotes(o.average) +
                               did_you_mean(o.average, averages) + ": expected none or one of " +
                               quoted_list(averages));
  if (!(o.beta > 0.0))
    throw InvalidArgumentError(std::string(o.class_name) + ": expected beta > 0, received " +
                               number_text(o.beta));
  if (!std::isnan(o.threshold) && !(o.threshold > 0.0 && o.threshold <= 1.0))
    throw InvalidArgumentError(std::string(o.class_name) + ": expected a threshold in (0, 1], received " +
                               number_text(o.threshold));
}

/// The sums of one class, or of all.
struct ClassSums {
  double true_positives = 0.0, false_positives = 0.0, false_negatives = 0.0, weight = 0.0;
};

class FScoreNode final : public MetricNode {
 public:
  explicit FScoreNode(FScoreOptions options, int64_t classes = 0)
      : options_(std::move(options)), classes_(classes) {
    check(options_);
  }
  std::string class_name() const override { return options_.class_name; }
  std::string name() const override { return options_.name; }
  void fields(FieldVisitor& v) const override { options_.fields(v); }
  bool larger_is_better() const override { return true; }
  int64_t state_size() const override { return 4 * classes_; }

  std::shared_ptr<const MetricNode> for_shapes(const Shape& y_true, const Shape& y_pred) const override {
    if (y_true.rank() != 2 || y_pred.rank() != 2)
      throw ShapeError("metric " + in_quotes(name()) +
                       ": expected y_true and y_pred (batch, classes), received " + y_true.to_string() +
                       " and " + y_pred.to_string());
    return std::make_shared<FScoreNode>(options_, y_pred[1]);
  }

  Tensor update(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) const override {
    const Tensor predicted = ops::cast(chosen(y_pred), DType::float64),
                 truth = ops::cast(y_true, DType::float64);
    Tensor weights = Tensor::full({1, 1}, 1.0, DType::float64, y_pred.device());
    if (sample_weight.defined()) {
      const Tensor fitted = fit_weights(sample_weight, y_pred.shape(), name());
      weights = ops::cast(fitted, DType::float64).with_shape({fitted.num_elements(), 1});
    }
    const auto sum = [&weights](const Tensor& values) { return ops::sum(values * weights, {0}); };
    return ops::concatenate(
        {sum(predicted * truth), sum(predicted * (1.0 - truth)), sum((1.0 - predicted) * truth), sum(truth)},
        0);
  }

  double result(const std::vector<double>& sums) const override { return results(sums).front(); }

  std::vector<double> results(const std::vector<double>& sums) const override {
    std::vector<double> scores;
    ClassSums all;
    double by_weight = 0.0, total = 0.0;
    for (int64_t i = 0; i < classes_; ++i) {
      const auto at = [&](int64_t k) { return sums[static_cast<size_t>(k * classes_ + i)]; };
      const ClassSums one{at(0), at(1), at(2), at(3)};
      scores.push_back(score(one));
      total += scores.back();
      by_weight += scores.back() * one.weight;
      all.true_positives += one.true_positives;
      all.false_positives += one.false_positives;
      all.false_negatives += one.false_negatives;
      all.weight += one.weight;
    }
    if (options_.average == "micro") return {score(all)};
    if (options_.average == "weighted") return {by_weight / (all.weight + kLossEpsilon)};
    if (options_.average == "macro") return {classes_ > 0 ? total / static_cast<double>(classes_) : 0.0};
    return scores.empty() ? std::vector<double>{0.0} : scores;
  }

 private:
  Tensor chosen(const Tensor& y_pred) const {
    const auto number = [&y_pred](double x) { return Tensor::full({}, x, y_pred.dtype(), y_pred.device()); };
    if (!std::isnan(options_.threshold)) return ops::greater(y_pred, number(options_.threshold));
    return ops::logical_and(ops::greater_equal(y_pred, ops::max(y_pred, {-1}, true)),
                            ops::greater(ops::abs(y_pred), number(1e-9)));
  }

  double score(const ClassSums& c) const {
    const double precision = c.true_positives / (c.true_positives + c.false_positives + kLossEpsilon);
    const double recall = c.true_positives / (c.true_positives + c.false_negatives + kLossEpsilon);
    const double square = options_.beta * options_.beta;
    return (1.0 + square) * precision * recall / (square * precision + recall + kLossEpsilon);
  }

  FScoreOptions options_;
  int64_t classes_;
};

}  // namespace

Metric detail::make_f_score(FScoreOptions options) {
  return Metric(std::make_shared<FScoreNode>(std::move(options)));
}

}  // namespace nyala::metrics
