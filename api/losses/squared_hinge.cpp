#include <nyala/api/losses/configured_loss.h>
#include <nyala/api/losses/hinge.h>
#include <nyala/api/losses/squared_hinge.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/reduction/reduction.h>

namespace nyala {

using namespace nyala::detail;

void SquaredHingeConfig::fields(FieldVisitor& v) { v.field("reduction", reduction); }

namespace {

Tensor squared_hinge_of(const Tensor& y_true, const Tensor& y_pred) {
  const auto [target, prediction] = comparable(y_true, y_pred);
  return ops::mean(ops::square(at_least(1.0 - hinge_labels(target) * prediction, 0.0)), {-1});
}

}  // namespace

SquaredHinge::SquaredHinge(const Config& config)
    : Loss(make_loss("SquaredHinge", config, squared_hinge_of)) {}

}  // namespace nyala
