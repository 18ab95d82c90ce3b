#include <nyala/api/losses/configured_loss.h>
#include <nyala/api/losses/sparse_categorical_crossentropy.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/comparison.h>
#include <nyala/backend/ops/nn/crossentropy.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/ops/shape/shape.h>
#include <nyala/backend/ops/shape/transpose.h>

namespace nyala {

void SparseCategoricalCrossentropyConfig::fields(FieldVisitor& v) {
  v.field("from_logits", from_logits);
  v.optional("ignore_class", ignore_class, kNoClass);
  v.field("reduction", reduction);
  v.field("axis", axis);
}

namespace {

class SparseCategoricalCrossentropyNode final : public ConfiguredLoss<SparseCategoricalCrossentropyConfig> {
 public:
  using ConfiguredLoss::ConfiguredLoss;
  std::string class_name() const override { return "SparseCategoricalCrossentropy"; }

  bool rows_are_independent() const override { return config_.axis != 0; }
  Tensor per_sample(const Tensor& y_true, const Tensor& y_pred) const override {
    detail::check_rows_named(config_.axis, y_pred.rank(), "SparseCategoricalCrossentropy");
    const Tensor target = labels(y_true, y_pred);
    const int axis = class_axis(y_pred);
    const Tensor prediction = axis == y_pred.rank() - 1 ? y_pred : ops::moveaxis(y_pred, axis, -1);
    return ops::sparse_categorical_crossentropy(target, prediction,
                                                {.from_logits = config_.from_logits,
                                                 .ignore = ignores(),
                                                 .ignore_class = ignores() ? config_.ignore_class : 0});
  }

  Tensor valid_mask(const Tensor& y_true, const Tensor& y_pred) const override {
    if (!ignores()) return {};
    const Tensor target = labels(y_true, y_pred);
    const Tensor ignored =
        Tensor::full({}, static_cast<double>(config_.ignore_class), DType::float64, target.device());
    return ops::cast(ops::not_equal(ops::cast(target, DType::float64), ignored), DType::float32);
  }

  Tensor valid_count(const Tensor& y_true, const Tensor& y_pred) const override {
    const Tensor mask = valid_mask(y_true, y_pred);
    return mask.defined() ? ops::sum(mask) : mask;
  }

 private:
  bool ignores() const { return config_.ignore_class != kNoClass; }

  int class_axis(const Tensor& y_pred) const {
    return y_pred.shape().normalize_axis(static_cast<int>(config_.axis));
  }

  /// Without the axis of the classes.
  Tensor labels(const Tensor& y_true, const Tensor& y_pred) const {
    const int axis = class_axis(y_pred);
    if (y_true.rank() == y_pred.rank()) {
      if (y_true.shape()[axis] == 1) return ops::squeeze(y_true, {axis});
      throw ShapeError("SparseCategoricalCrossentropy: expected class numbers of shape " +
                       y_pred.shape().without(axis).to_string() + " for y_pred " +
                       y_pred.shape().to_string() + ", received " + y_true.shape().to_string() +
                       "; for one-hot targets use CategoricalCrossentropy");
    }
    return y_true;
  }
};

}  // namespace

SparseCategoricalCrossentropy::SparseCategoricalCrossentropy(const Config& config)
    : Loss(std::make_shared<SparseCategoricalCrossentropyNode>(config)) {}

}  // namespace nyala
