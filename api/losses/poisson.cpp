#include <nyala/api/losses/configured_loss.h>
#include <nyala/api/losses/poisson.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/exponential.h>
#include <nyala/backend/ops/reduction/reduction.h>

namespace nyala {

using namespace nyala::detail;

void PoissonConfig::fields(FieldVisitor& v) { v.field("reduction", reduction); }

namespace {

Tensor poisson_of(const Tensor& y_true, const Tensor& y_pred) {
  const auto [target, prediction] = comparable(y_true, y_pred);
  return ops::mean(prediction - target * ops::log(prediction + kLossEpsilon), {-1});
}

}  // namespace

Poisson::Poisson(const Config& config) : Loss(make_loss("Poisson", config, poisson_of)) {}

}  // namespace nyala
