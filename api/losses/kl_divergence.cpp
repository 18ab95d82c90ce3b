#include <nyala/api/losses/configured_loss.h>
#include <nyala/api/losses/kl_divergence.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/exponential.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/reduction/reduction.h>

namespace nyala {

using namespace nyala::detail;

void KLDivergenceConfig::fields(FieldVisitor& v) { v.field("reduction", reduction); }

namespace {

Tensor kl_divergence_of(const Tensor& y_true, const Tensor& y_pred) {
  const auto [target, prediction] = comparable(y_true, y_pred);
  const Tensor p = ops::clip(target, kLossEpsilon, 1.0), q = ops::clip(prediction, kLossEpsilon, 1.0);
  return ops::sum(p * ops::log(p / q), {-1});
}

}  // namespace

KLDivergence::KLDivergence(const Config& config)
    : Loss(make_loss("KLDivergence", config, kl_divergence_of)) {}

}  // namespace nyala
