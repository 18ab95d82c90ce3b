#include <nyala/api/losses/categorical_hinge.h>
#include <nyala/api/losses/configured_loss.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/reduction/reduction.h>

namespace nyala {

using namespace nyala::detail;

void CategoricalHingeConfig::fields(FieldVisitor& v) { v.field("reduction", reduction); }

namespace {

Tensor categorical_hinge_of(const Tensor& y_true, const Tensor& y_pred) {
  const auto [target, prediction] = comparable(y_true, y_pred);
  const Tensor own = ops::sum(target * prediction, {-1});
  const Tensor other = ops::max((1.0 - target) * prediction, {-1});
  return at_least(other - own + 1.0, 0.0);
}

}  // namespace

CategoricalHinge::CategoricalHinge(const Config& config)
    : Loss(make_loss("CategoricalHinge", config, categorical_hinge_of)) {}

}  // namespace nyala
