#include <nyala/api/losses/configured_loss.h>
#include <nyala/api/losses/mean_squared_error.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/reduction/reduction.h>

namespace nyala {

using namespace nyala::detail;

void MeanSquaredErrorConfig::fields(FieldVisitor& v) { v.field("reduction", reduction); }

namespace {

Tensor mean_squared_error_of(const Tensor& y_true, const Tensor& y_pred) {
  const auto [target, prediction] = comparable(y_true, y_pred);
  return ops::mean(ops::squared_difference(target, prediction), {-1});
}

}  // namespace

MeanSquaredError::MeanSquaredError(const Config& config)
    : Loss(make_loss("MeanSquaredError", config, mean_squared_error_of)) {}

}  // namespace nyala
