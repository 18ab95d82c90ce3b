#include <nyala/api/losses/configured_loss.h>
#include <nyala/api/metrics/base/mean_metric.h>
#include <nyala/api/metrics/correlation/concordance_correlation.h>
#include <nyala/backend/core/to_int.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/ops/reduction/statistics.h>

namespace nyala::metrics {

using namespace nyala::detail;
using namespace nyala::metrics::detail;

void ConcordanceCorrelationConfig::fields(FieldVisitor& v) { v.field("axis", axis); }

namespace {

// The mean of the predictions is taken from both, as Keras does.
Tensor concordance(const Tensor& y_true, const Tensor& y_pred, int axis) {
  const auto [target, prediction] = comparable(y_true, y_pred);
  const Tensor mean = ops::mean(prediction, {axis}, true), mean_true = ops::mean(target, {axis}, true);
  const Tensor spread =
      ops::var(target, {axis}, true) + ops::var(prediction, {axis}, true) + ops::square(mean_true - mean);
  return ops::mean((target - mean) * (prediction - mean) * 2.0 / (spread + kLossEpsilon), {axis});
}

}  // namespace

ConcordanceCorrelation::ConcordanceCorrelation(const Config& config)
    : Metric(make_loss_metric(
          "ConcordanceCorrelation", config,
          Loss([axis = to_int(config.axis, "axis")](
                   const Tensor& y_true, const Tensor& y_pred) { return concordance(y_true, y_pred, axis); },
               {.rows_are_independent = is_within_rows(config.axis)}),
          Direction::larger)) {}

}  // namespace nyala::metrics
