#include <numbers>

#include <nyala/api/losses/configured_loss.h>
#include <nyala/api/losses/log_cosh.h>
#include <nyala/backend/ops/elementwise/activation.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/reduction/reduction.h>

namespace nyala {

using namespace nyala::detail;

void LogCoshConfig::fields(FieldVisitor& v) { v.field("reduction", reduction); }

namespace {

Tensor log_cosh_of(const Tensor& y_true, const Tensor& y_pred) {
  const auto [target, prediction] = comparable(y_true, y_pred);
  const Tensor error = prediction - target;
  return ops::mean(error + ops::softplus(error * -2.0) - std::numbers::ln2, {-1});
}

}  // namespace

LogCosh::LogCosh(const Config& config) : Loss(make_loss("LogCosh", config, log_cosh_of)) {}

}  // namespace nyala
