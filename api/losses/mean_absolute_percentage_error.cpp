#include <nyala/api/losses/configured_loss.h>
#include <nyala/api/losses/mean_absolute_percentage_error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/reduction/reduction.h>

namespace nyala {

using namespace nyala::detail;

void MeanAbsolutePercentageErrorConfig::fields(FieldVisitor& v) { v.field("reduction", reduction); }

namespace {

Tensor mean_absolute_percentage_error_of(const Tensor& y_true, const Tensor& y_pred) {
  const auto [target, prediction] = comparable(y_true, y_pred);
  const Tensor size = at_least(ops::abs(target), kLossEpsilon);
  return ops::mean(ops::abs((target - prediction) / size), {-1}) * 100.0;
}

}  // namespace

MeanAbsolutePercentageError::MeanAbsolutePercentageError(const Config& config)
    : Loss(make_loss("MeanAbsolutePercentageError", config, mean_absolute_percentage_error_of)) {}

}  // namespace nyala
