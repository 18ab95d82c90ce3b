#include <nyala/api/losses/configured_loss.h>
#include <nyala/api/losses/huber.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/comparison.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/reduction/reduction.h>

namespace nyala {

using namespace nyala::detail;

void HuberConfig::fields(FieldVisitor& v) {
  v.field("delta", delta);
  v.field("reduction", reduction);
}

Huber::Huber(const Config& config)
    : Loss(make_loss("Huber", config, [config](const Tensor& y_true, const Tensor& y_pred) {
        const auto [target, prediction] = comparable(y_true, y_pred);
        const Tensor error = prediction - target, size = ops::abs(error);
        const Tensor delta = Tensor::full({}, config.delta, size.dtype(), size.device());
        return ops::mean(ops::where(ops::less_equal(size, delta), ops::square(error) * 0.5,
                                    size * config.delta - 0.5 * config.delta * config.delta),
                         {-1});
      })) {}

}  // namespace nyala
