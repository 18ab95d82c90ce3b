#include <nyala/api/losses/categorical_focal_crossentropy.h>
#include <nyala/api/losses/configured_loss.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/exponential.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/nn/softmax.h>
#include <nyala/backend/ops/reduction/reduction.h>

namespace nyala {

using namespace nyala::detail;

void CategoricalFocalCrossentropyConfig::fields(FieldVisitor& v) {
  std::vector<double> factors = alpha.list();
  v.field("alpha", factors);
  if (factors != alpha.list()) alpha = factors;
  v.field("gamma", gamma);
  v.field("from_logits", from_logits);
  v.field("label_smoothing", label_smoothing);
  v.field("axis", axis);
  v.field("reduction", reduction);
}

namespace {

const CategoricalFocalCrossentropyConfig& checked(const CategoricalFocalCrossentropyConfig& config) {
  if (config.alpha.list().empty())
    throw InvalidArgumentError("CategoricalFocalCrossentropy: expected an alpha, or one for each class");
  return config;
}

/// alpha * `x`, whose last axis is that of the classes.
Tensor times_alpha(const Tensor& x, const std::vector<double>& alpha) {
  if (alpha.size() == 1) return x * alpha[0];
  const auto classes = static_cast<int64_t>(alpha.size());
  if (x.rank() < 1 || x.shape().back() != classes)
    throw ShapeError("CategoricalFocalCrossentropy: " + std::to_string(classes) +
                     " factors in alpha do not fit y_pred " + x.shape().to_string());
  return x * ops::cast(Tensor::from(alpha, {classes}, x.device()), x.dtype());
}

}  // namespace

CategoricalFocalCrossentropy::CategoricalFocalCrossentropy(const Config& config)
    : Loss(make_loss(
          "CategoricalFocalCrossentropy", checked(config),
          [config](const Tensor& y_true, const Tensor& y_pred) {
            const auto [target, prediction] = comparable(y_true, y_pred);
            check_rows_named(config.axis, prediction.rank(), "CategoricalFocalCrossentropy");
            const int axis = static_cast<int>(config.axis);
            const double rest = config.label_smoothing / static_cast<double>(target.shape().back());
            const Tensor smooth = target * (1.0 - config.label_smoothing) + rest;
            const Tensor given = config.from_logits ? ops::softmax(prediction, axis) : prediction;
            const Tensor p =
                ops::clip(given / ops::sum(given, {axis}, true), kLossEpsilon, 1.0 - kLossEpsilon);
            const Tensor factor = times_alpha(ops::power(1.0 - p, config.gamma), config.alpha.list());
            return ops::sum(factor * (-smooth * ops::log(p)), {axis});
          },
          config.axis != 0 ? ValuesOf::elements : ValuesOf::batch)) {}

}  // namespace nyala
