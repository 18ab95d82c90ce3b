#include <nyala/api/losses/configured_loss.h>
#include <nyala/api/losses/mean_absolute_error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/reduction/reduction.h>

namespace nyala {

using namespace nyala::detail;

void MeanAbsoluteErrorConfig::fields(FieldVisitor& v) { v.field("reduction", reduction); }

namespace {

Tensor mean_absolute_error_of(const Tensor& y_true, const Tensor& y_pred) {
  const auto [target, prediction] = comparable(y_true, y_pred);
  return ops::mean(ops::abs(ops::subtract(target, prediction)), {-1});
}

}  // namespace

MeanAbsoluteError::MeanAbsoluteError(const Config& config)
    : Loss(make_loss("MeanAbsoluteError", config, mean_absolute_error_of)) {}

}  // namespace nyala
