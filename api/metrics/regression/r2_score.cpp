#include <algorithm>
#include <cmath>

#include <nyala/api/metrics/base/mean_metric.h>
#include <nyala/api/metrics/regression/r2_score.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/ops/shape/concatenate.h>

namespace nyala::metrics {

using namespace nyala::detail;
using namespace nyala::metrics::detail;

void R2ScoreConfig::fields(FieldVisitor& v) {
  v.optional("class_aggregation", class_aggregation);
  v.field("num_regressors", num_regressors);
}

namespace {

/// Sums per column: y, y^2, squared error and weight; then the number of elements.
class R2ScoreNode final : public MetricNode {
 public:
  explicit R2ScoreNode(R2ScoreConfig config, int64_t columns = 0)
      : config_(std::move(config)), columns_(columns) {
    const std::vector<std::string> known = {"uniform_average", "variance_weighted_average"};
    const std::string& given = config_.class_aggregation;
    if (!given.empty() && std::find(known.begin(), known.end(), given) == known.end())
      throw InvalidArgumentError("R2Score: unknown class_aggregation '" + given + "'" +
                                 did_you_mean(given, known) + ": expected none or one of " +
                                 quoted_list(known));
    if (config_.num_regressors < 0)
      throw InvalidArgumentError("R2Score: expected num_regressors >= 0, received " +
                                 std::to_string(config_.num_regressors));
  }
  std::string class_name() const override { return "R2Score"; }
  std::string name() const override { return config_.name; }
  void fields(FieldVisitor& v) const override { R2ScoreConfig(config_).fields(v); }
  bool larger_is_better() const override { return true; }
  int64_t state_size() const override { return 4 * columns_ + 1; }

  std::shared_ptr<const MetricNode> for_shapes(const Shape& y_true, const Shape& y_pred) const override {
    if (y_pred.rank() != 2 || y_true.rank() < 1 || y_true.rank() > 2)
      throw ShapeError("metric 'r2_score': expected y_true and y_pred (batch, columns), received " +
                       y_true.to_string() + " and " + y_pred.to_string());
    return std::make_shared<R2ScoreNode>(config_, y_pred[1]);
  }

  Tensor update(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) const override {
    const auto [target, prediction] =
        fit_ranks(ops::cast(y_true, DType::float64), ops::cast(y_pred, DType::float64));
    Tensor weights = Tensor::full(prediction.shape(), 1.0, DType::float64, prediction.device());
    if (sample_weight.defined()) {
      const Tensor fitted = ops::cast(fit_weights(sample_weight, prediction.shape(), name()), DType::float64);
      weights = weights * (fitted.rank() == 1 ? fitted.with_shape({fitted.num_elements(), 1}) : fitted);
    }
    const Tensor weighted = target * weights;
    const double elements = static_cast<double>(target.num_elements());
    return ops::concatenate(
        {ops::sum(weighted, {0}), ops::sum(target * weighted, {0}),
         ops::sum(ops::squared_difference(target, prediction) * weights, {0}), ops::sum(weights, {0}),
         Tensor::full({1}, elements, DType::float64, prediction.device())},
        0);
  }

  double result(const std::vector<double>& sums) const override { return results(sums).front(); }

  std::vector<double> results(const std::vector<double>& sums) const override {
    if (columns_ == 0) return {0.0};
    std::vector<double> scores;
    double sum = 0.0, by_spread = 0.0, spread_sum = 0.0;
    for (int64_t i = 0; i < columns_; ++i) {
      const auto at = [&](int64_t k) { return sums[static_cast<size_t>(k * columns_ + i)]; };
      const double spread = at(1) - at(0) * (at(0) / at(3));
      const double score = 1.0 - at(2) / spread;
      scores.push_back(std::isinf(score) ? 0.0 : score);
      sum += scores.back();
      by_spread += spread * scores.back();
      spread_sum += spread;
    }
    if (config_.class_aggregation == "uniform_average") scores = {sum / static_cast<double>(columns_)};
    if (config_.class_aggregation == "variance_weighted_average") scores = {by_spread / spread_sum};
    for (double& score : scores) score = adjusted(score, sums.back());
    return scores;
  }

 private:
  double adjusted(double score, double elements) const {
    const double regressors = static_cast<double>(config_.num_regressors);
    if (regressors == 0.0 || regressors >= elements - 1.0) return score;
    return 1.0 - (1.0 - score) * (elements - 1.0) / (elements - regressors - 1.0);
  }

  R2ScoreConfig config_;
  int64_t columns_;
};

}  // namespace

R2Score::R2Score(const Config& config) : Metric(std::make_shared<R2ScoreNode>(config)) {}

}  // namespace nyala::metrics
