#include <nyala/api/losses/configured_loss.h>
#include <nyala/api/losses/mean_absolute_error.h>
#include <nyala/backend/ops/arithmetic.h>
#include <nyala/backend/ops/reduction.h>
#include <nyala/backend/ops/rounding.h>

namespace nyala {

void MeanAbsoluteErrorConfig::fields(FieldVisitor& v) { v.field("reduction", reduction); }

namespace {

class MeanAbsoluteErrorNode final : public ConfiguredLoss<MeanAbsoluteErrorConfig> {
 public:
  using ConfiguredLoss::ConfiguredLoss;
  std::string class_name() const override { return "MeanAbsoluteError"; }
  Tensor per_sample(const Tensor& y_true, const Tensor& y_pred) const override {
    const auto [target, prediction] = comparable(y_true, y_pred);
    return ops::mean(ops::abs(ops::subtract(target, prediction)), {-1});
  }
};

}  // namespace

MeanAbsoluteError::MeanAbsoluteError(const Config& config)
    : Loss(std::make_shared<MeanAbsoluteErrorNode>(config)) {}

}  // namespace nyala
