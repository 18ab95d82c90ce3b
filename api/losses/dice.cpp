#include <nyala/api/losses/dice.h>
#include <nyala/api/losses/overlap_loss.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>

namespace nyala {

using namespace nyala::detail;

void DiceConfig::fields(FieldVisitor& v) {
  v.field("reduction", reduction);
  v.field("axis", axis);
}

Dice::Dice(const Config& config)
    : Loss(make_loss(
          "Dice", config,
          [config](const Tensor& y_true, const Tensor& y_pred) {
            const OverlapSums sums = overlap_sums(y_true, y_pred, config.axis);
            const Tensor twice = sums.both * 2.0;
            return 1.0 - twice / (twice + sums.only_true + sums.only_pred + kLossEpsilon);
          },
          detail::sums_within_rows(config.axis) ? ValuesOf::rows : ValuesOf::batch)) {}

}  // namespace nyala
