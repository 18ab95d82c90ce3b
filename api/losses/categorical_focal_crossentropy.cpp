#include <nyala/api/losses/categorical_focal_crossentropy.h>
#include <nyala/api/losses/configured_loss.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/exponential.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/nn/softmax.h>
#include <nyala/backend/ops/reduction/reduction.h>

namespace nyala {

using namespace nyala::detail;

void CategoricalFocalCrossentropyConfig::fields(FieldVisitor& v) {
  v.field("alpha", alpha);
  v.field("gamma", gamma);
  v.field("from_logits", from_logits);
  v.field("label_smoothing", label_smoothing);
  v.field("axis", axis);
  v.field("reduction", reduction);
}

CategoricalFocalCrossentropy::CategoricalFocalCrossentropy(const Config& config)
    : Loss(make_loss(
          "CategoricalFocalCrossentropy", config, [config](const Tensor& y_true, const Tensor& y_pred) {
            const auto [target, prediction] = comparable(y_true, y_pred);
            const int axis = static_cast<int>(config.axis);
            const double rest = config.label_smoothing / static_cast<double>(target.shape().back());
            const Tensor smooth = target * (1.0 - config.label_smoothing) + rest;
            const Tensor given = config.from_logits ? ops::softmax(prediction, axis) : prediction;
            const Tensor p =
                ops::clip(given / ops::sum(given, {axis}, true), kLossEpsilon, 1.0 - kLossEpsilon);
            const Tensor factor = ops::power(1.0 - p, config.gamma) * config.alpha;
            return ops::sum(factor * (-smooth * ops::log(p)), {axis});
          })) {}

}  // namespace nyala
