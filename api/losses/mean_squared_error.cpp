#include <nyala/api/losses/configured_loss.h>
#include <nyala/api/losses/mean_squared_error.h>
#include <nyala/backend/ops/binary.h>
#include <nyala/backend/ops/reduction.h>

namespace nyala {

void MeanSquaredErrorConfig::fields(FieldVisitor& v) { v.field("reduction", reduction); }

namespace {

class MeanSquaredErrorNode final : public ConfiguredLoss<MeanSquaredErrorConfig> {
 public:
  using ConfiguredLoss::ConfiguredLoss;
  std::string class_name() const override { return "MeanSquaredError"; }
  Tensor per_sample(const Tensor& y_true, const Tensor& y_pred) const override {
    const auto [target, prediction] = comparable(y_true, y_pred);
    return ops::mean(ops::squared_difference(target, prediction), {-1});
  }
};

}  // namespace

MeanSquaredError::MeanSquaredError(const Config& config)
    : Loss(std::make_shared<MeanSquaredErrorNode>(config)) {}

}  // namespace nyala
