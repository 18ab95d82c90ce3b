#include <nyala/api/losses/configured_loss.h>
#include <nyala/api/metrics/base/mean_metric.h>
#include <nyala/api/metrics/correlation/pearson_correlation.h>
#include <nyala/backend/core/to_int.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/ops/reduction/statistics.h>

namespace nyala::metrics {

using namespace nyala::detail;
using namespace nyala::metrics::detail;

void PearsonCorrelationConfig::fields(FieldVisitor& v) { v.field("axis", axis); }

namespace {

Tensor standardized(const Tensor& x, int axis) {
  const Tensor centered = x - ops::mean(x, {axis}, true);
  return centered / ops::std(centered, {axis}, true);
}

Tensor correlation(const Tensor& y_true, const Tensor& y_pred, int axis) {
  const auto [target, prediction] = comparable(y_true, y_pred);
  return ops::mean(standardized(target, axis) * standardized(prediction, axis), {axis});
}

}  // namespace

PearsonCorrelation::PearsonCorrelation(const Config& config)
    : Metric(make_loss_metric(
          "PearsonCorrelation", config,
          Loss([axis = to_int(config.axis, "axis")](
                   const Tensor& y_true, const Tensor& y_pred) { return correlation(y_true, y_pred, axis); },
               {.rows_are_independent = is_within_rows(config.axis)}),
          Direction::larger)) {}

}  // namespace nyala::metrics
