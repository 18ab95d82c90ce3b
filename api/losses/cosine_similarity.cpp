#include <algorithm>

#include <nyala/api/losses/configured_loss.h>
#include <nyala/api/losses/cosine_similarity.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/exponential.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/reduction/reduction.h>

namespace nyala {

using namespace nyala::detail;

void CosineSimilarityConfig::fields(FieldVisitor& v) {
  v.field("axis", axis);
  v.field("reduction", reduction);
}

namespace {

// The smallest norm is put under the root: there the gradient is 0 and not NaN.
Tensor normalized(const Tensor& x, int axis) {
  const Tensor square_sum = ops::sum(ops::square(x), {axis}, true);
  return x * ops::rsqrt(at_least(square_sum, kLossEpsilon * kLossEpsilon));
}

}  // namespace

Tensor detail::cosine_similarity(const Tensor& y_true, const Tensor& y_pred, int axis) {
  const auto [target, prediction] = comparable(y_true, y_pred);
  return ops::sum(normalized(target, axis) * normalized(prediction, axis), {axis});
}

CosineSimilarity::CosineSimilarity(const Config& config)
    : Loss(make_loss(
          "CosineSimilarity", config,
          [config](const Tensor& y_true, const Tensor& y_pred) {
            check_rows_named(config.axis, std::max(y_pred.rank(), 2), "CosineSimilarity");
            return -cosine_similarity(y_true, y_pred, static_cast<int>(config.axis));
          },
          config.axis != 0 ? ValuesOf::elements : ValuesOf::batch)) {}

}  // namespace nyala
