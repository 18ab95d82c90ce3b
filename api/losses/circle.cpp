#include <nyala/api/losses/circle.h>
#include <nyala/api/losses/configured_loss.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/creation.h>
#include <nyala/backend/ops/elementwise/activation.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/comparison.h>
#include <nyala/backend/ops/elementwise/logical.h>
#include <nyala/backend/ops/nn/matmul.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/ops/reduction/statistics.h>
#include <nyala/backend/ops/shape/transpose.h>

namespace nyala {

using namespace nyala::detail;

void CircleConfig::fields(FieldVisitor& v) {
  v.field("gamma", gamma);
  v.field("margin", margin);
  v.field("remove_diagonal", remove_diagonal);
  v.field("reduction", reduction);
}

namespace {

/// Instead of minus infinity, whose gradient would be NaN where a row has no partner.
constexpr double kNoPartner = -1e9;

class CircleNode final : public ConfiguredLoss<CircleConfig> {
 public:
  using ConfiguredLoss::ConfiguredLoss;
  std::string class_name() const override { return "Circle"; }
  bool rows_are_independent() const override { return false; }

  Tensor per_sample(const Tensor& y_true, const Tensor& y_pred) const override {
    if (y_pred.rank() != 2 || y_true.num_elements() != y_pred.shape()[0])
      throw ShapeError("Circle: expected y_true (n,) and y_pred (n, d), received " +
                       y_true.shape().to_string() + " and " + y_pred.shape().to_string());
    const Tensor distance = at_least(1.0 - ops::matmul(y_pred, ops::transpose(y_pred)), 0.0);
    const Tensor same = same_class(y_true);
    Tensor partners = same;
    if (config_.remove_diagonal) {
      const Tensor diagonal = ops::eye(y_pred.shape()[0], {.dtype = DType::bool_, .device = y_pred.device()});
      partners = ops::logical_and(same, ops::logical_not(diagonal));
    }
    const Tensor near = at_least(distance + config_.margin, 0.0) * (distance - config_.margin);
    const Tensor far = at_least((1.0 + config_.margin) - distance, 0.0) * ((1.0 - config_.margin) - distance);
    return ops::softplus(summed(near, partners) + summed(far, ops::logical_not(same)));
  }

  Tensor valid_mask(const Tensor& y_true, const Tensor& y_pred) const override {
    const Tensor values = per_sample(y_true.detached(), y_pred.detached());
    return ops::cast(ops::greater(values, ops::zeros_like(values)), DType::float32);
  }

  Tensor valid_count(const Tensor& y_true, const Tensor& y_pred) const override {
    return ops::sum(valid_mask(y_true, y_pred));
  }

 private:
  Tensor same_class(const Tensor& y_true) const {
    const int64_t rows = y_true.num_elements();
    const Tensor labels = ops::cast(y_true, DType::int32);
    return ops::equal(labels.with_shape({rows, 1}), labels.with_shape({1, rows}));
  }

  Tensor summed(const Tensor& exponents, const Tensor& counted) const {
    const Tensor scaled = exponents * config_.gamma;
    const Tensor none = Tensor::full({}, kNoPartner, scaled.dtype(), scaled.device());
    return ops::logsumexp(ops::where(counted, scaled, none), {1});
  }
};

}  // namespace

Circle::Circle(const Config& config) : Loss(std::make_shared<CircleNode>(config)) {}

}  // namespace nyala
