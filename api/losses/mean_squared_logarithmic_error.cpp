#include <nyala/api/losses/configured_loss.h>
#include <nyala/api/losses/mean_squared_logarithmic_error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/exponential.h>
#include <nyala/backend/ops/reduction/reduction.h>

namespace nyala {

using namespace nyala::detail;

void MeanSquaredLogarithmicErrorConfig::fields(FieldVisitor& v) { v.field("reduction", reduction); }

namespace {

Tensor mean_squared_logarithmic_error_of(const Tensor& y_true, const Tensor& y_pred) {
  const auto [target, prediction] = comparable(y_true, y_pred);
  const auto log_of = [](const Tensor& x) { return ops::log(at_least(x, kLossEpsilon) + 1.0); };
  return ops::mean(ops::squared_difference(log_of(prediction), log_of(target)), {-1});
}

}  // namespace

MeanSquaredLogarithmicError::MeanSquaredLogarithmicError(const Config& config)
    : Loss(make_loss("MeanSquaredLogarithmicError", config, mean_squared_logarithmic_error_of)) {}

}  // namespace nyala
