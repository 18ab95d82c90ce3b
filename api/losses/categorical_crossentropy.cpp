#include <nyala/api/losses/categorical_crossentropy.h>
#include <nyala/api/losses/configured_loss.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/nn/crossentropy.h>
#include <nyala/backend/ops/shape/transpose.h>

namespace nyala {

using namespace nyala::detail;

void CategoricalCrossentropyConfig::fields(FieldVisitor& v) {
  v.field("from_logits", from_logits);
  v.field("label_smoothing", label_smoothing);
  v.field("axis", axis);
  v.field("reduction", reduction);
}

namespace {

class CategoricalCrossentropyNode final : public ConfiguredLoss<CategoricalCrossentropyConfig> {
 public:
  using ConfiguredLoss::ConfiguredLoss;
  std::string class_name() const override { return "CategoricalCrossentropy"; }
  bool rows_are_independent() const override { return config_.axis != 0; }
  Tensor per_sample(const Tensor& y_true, const Tensor& y_pred) const override {
    auto [target, prediction] = fit_ranks(ops::cast(y_true, y_pred.dtype()), y_pred);
    if (!matches(target.shape(), prediction.shape()) && !matches(prediction.shape(), target.shape()))
      throw ShapeError("CategoricalCrossentropy: expected y_true and y_pred of one shape, received " +
                       y_true.shape().to_string() + " and " + y_pred.shape().to_string() +
                       "; for class numbers use SparseCategoricalCrossentropy");
    check_rows_named(config_.axis, prediction.rank(), "CategoricalCrossentropy");
    const int axis = prediction.shape().normalize_axis(static_cast<int>(config_.axis));
    if (axis != prediction.rank() - 1) {
      target = ops::moveaxis(target, axis, -1);
      prediction = ops::moveaxis(prediction, axis, -1);
    }
    return ops::categorical_crossentropy(
        target, prediction, {.from_logits = config_.from_logits, .label_smoothing = config_.label_smoothing});
  }
};

}  // namespace

CategoricalCrossentropy::CategoricalCrossentropy(const Config& config)
    : Loss(std::make_shared<CategoricalCrossentropyNode>(config)) {}

}  // namespace nyala
