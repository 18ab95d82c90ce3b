#include <nyala/api/losses/binary_focal_crossentropy.h>
#include <nyala/api/losses/configured_loss.h>
#include <nyala/backend/ops/elementwise/activation.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/nn/crossentropy.h>
#include <nyala/backend/ops/reduction/reduction.h>

namespace nyala {

using namespace nyala::detail;

void BinaryFocalCrossentropyConfig::fields(FieldVisitor& v) {
  v.field("apply_class_balancing", apply_class_balancing);
  v.field("alpha", alpha);
  v.field("gamma", gamma);
  v.field("from_logits", from_logits);
  v.field("label_smoothing", label_smoothing);
  v.field("axis", axis);
  v.field("reduction", reduction);
}

BinaryFocalCrossentropy::BinaryFocalCrossentropy(const Config& config)
    : Loss(make_loss(
          "BinaryFocalCrossentropy", config,
          [config](const Tensor& y_true, const Tensor& y_pred) {
            const auto [target, prediction] = comparable(y_true, y_pred);
            check_rows_named(config.axis, prediction.rank(), "BinaryFocalCrossentropy");
            const Tensor smooth = target * (1.0 - config.label_smoothing) + 0.5 * config.label_smoothing;
            const Tensor each =
                ops::binary_crossentropy(smooth, prediction, {.from_logits = config.from_logits});
            const Tensor p = config.from_logits ? ops::sigmoid(prediction) : prediction;
            const Tensor of_true = smooth * p + (1.0 - smooth) * (1.0 - p);
            Tensor focal = ops::power(1.0 - of_true, config.gamma) * each;
            if (config.apply_class_balancing)
              focal = (smooth * config.alpha + (1.0 - smooth) * (1.0 - config.alpha)) * focal;
            return ops::mean(focal, {static_cast<int>(config.axis)});
          },
          config.axis != 0 ? ValuesOf::elements : ValuesOf::batch)) {}

}  // namespace nyala
