#include <limits>

#include <nyala/api/losses/configured_loss.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/shape/shape.h>

namespace nyala {

using namespace nyala::detail;

Tensor detail::at_least(const Tensor& x, double minimum) {
  return ops::clip(x, minimum, std::numeric_limits<double>::infinity());
}

std::pair<Tensor, Tensor> detail::comparable(const Tensor& y_true, const Tensor& y_pred) {
  auto [target, prediction] = fit_ranks(ops::cast(y_true, y_pred.dtype()), y_pred);
  if (prediction.rank() == 1 && target.rank() == 1)
    return {ops::expand_dims(target, -1), ops::expand_dims(prediction, -1)};
  return {target, prediction};
}

}  // namespace nyala
