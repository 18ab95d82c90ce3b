#include <nyala/api/losses/categorical_generalized_cross_entropy.h>
#include <nyala/api/losses/configured_loss.h>
#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/ops/shape/gather.h>
#include <nyala/backend/ops/shape/shape.h>

namespace nyala {

using namespace nyala::detail;

void CategoricalGeneralizedCrossEntropyConfig::fields(FieldVisitor& v) {
  v.field("q", q);
  v.field("reduction", reduction);
}

namespace {

const CategoricalGeneralizedCrossEntropyConfig& checked(
    const CategoricalGeneralizedCrossEntropyConfig& config) {
  if (!(config.q > 0.0 && config.q < 1.0))
    throw InvalidArgumentError("CategoricalGeneralizedCrossEntropy: expected q in (0, 1), received " +
                               number_text(config.q));
  return config;
}

}  // namespace

CategoricalGeneralizedCrossEntropy::CategoricalGeneralizedCrossEntropy(const Config& config)
    : Loss(make_loss(
          "CategoricalGeneralizedCrossEntropy", checked(config),
          [q = config.q](const Tensor& y_true, const Tensor& y_pred) {
            const bool column = y_true.rank() == y_pred.rank() && y_true.shape().back() == 1;
            const Tensor labels = column ? ops::squeeze(y_true, {-1}) : y_true;
            const Tensor one_hot =
                ops::one_hot(ops::cast(labels, DType::int64), y_pred.shape().back(), -1, y_pred.dtype());
            const Tensor p = ops::sum(y_pred * one_hot, {-1});
            return (1.0 - ops::power(p, q)) / q;
          },
          ValuesOf::rows)) {}

}  // namespace nyala
