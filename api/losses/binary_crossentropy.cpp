#include <nyala/api/losses/binary_crossentropy.h>
#include <nyala/api/losses/configured_loss.h>
#include <nyala/backend/ops/nn/crossentropy.h>
#include <nyala/backend/ops/reduction/reduction.h>

namespace nyala {

using namespace nyala::detail;

void BinaryCrossentropyConfig::fields(FieldVisitor& v) {
  v.field("from_logits", from_logits);
  v.field("label_smoothing", label_smoothing);
  v.field("axis", axis);
  v.field("reduction", reduction);
}

namespace {

class BinaryCrossentropyNode final : public ConfiguredLoss<BinaryCrossentropyConfig> {
 public:
  using ConfiguredLoss::ConfiguredLoss;
  std::string class_name() const override { return "BinaryCrossentropy"; }
  bool compares_elements() const override { return true; }
  bool rows_are_independent() const override { return config_.axis != 0; }
  Tensor per_sample(const Tensor& y_true, const Tensor& y_pred) const override {
    const auto [target, prediction] = comparable(y_true, y_pred);
    check_rows_named(config_.axis, prediction.rank(), "BinaryCrossentropy");
    const Tensor each = ops::binary_crossentropy(
        target, prediction, {.from_logits = config_.from_logits, .label_smoothing = config_.label_smoothing});
    return ops::mean(each, {static_cast<int>(config_.axis)});
  }
};

}  // namespace

BinaryCrossentropy::BinaryCrossentropy(const Config& config)
    : Loss(std::make_shared<BinaryCrossentropyNode>(config)) {}

}  // namespace nyala
