#include <nyala/api/losses/overlap_loss.h>
#include <nyala/api/losses/tversky.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>

namespace nyala {

using namespace nyala::detail;

void TverskyConfig::fields(FieldVisitor& v) {
  v.field("alpha", alpha);
  v.field("beta", beta);
  v.field("reduction", reduction);
  v.field("axis", axis);
}

Tversky::Tversky(const Config& config)
    : Loss(make_loss(
          "Tversky", config,
          [config](const Tensor& y_true, const Tensor& y_pred) {
            const OverlapSums sums = overlap_sums(y_true, y_pred, config.axis);
            return 1.0 - sums.both / (sums.both + sums.only_true * config.alpha +
                                      sums.only_pred * config.beta + kLossEpsilon);
          },
          detail::sums_within_rows(config.axis) ? ValuesOf::rows : ValuesOf::batch)) {}

}  // namespace nyala
