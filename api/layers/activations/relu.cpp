#include <cmath>

#include <nyala/api/layers/activations/relu.h>
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/base/fusable.h>
#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/activation.h>

namespace nyala {

using namespace nyala::detail;

void ReLUConfig::fields(FieldVisitor& v) {
  v.optional("max_value", max_value);
  v.field("negative_slope", negative_slope);
  v.field("threshold", threshold);
}

namespace {

void expect_not_negative(const std::string& field, double value) {
  if (!(value >= 0))
    throw InvalidArgumentError("ReLU: expected " + field + " >= 0, received " + number_text(value));
}

class ReLUNode final : public LayerNode, public Fusable {
 public:
  explicit ReLUNode(const ReLUConfig& config) : config_(config) {
    expect_not_negative("max_value", std::isnan(config.max_value) ? 0.0 : config.max_value);
    expect_not_negative("negative_slope", config.negative_slope);
    expect_not_negative("threshold", config.threshold);
    parameters_.negative_slope = config.negative_slope;
    parameters_.threshold = config.threshold;
    if (!std::isnan(config.max_value)) parameters_.max_value = config.max_value;
  }
  std::string class_name() const override { return "ReLU"; }
  bool supports_masking() const override { return true; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  Tensor call(Call&, const Tensor& x) const override { return ops::relu(x, parameters_); }
  const Fusable* fusable() const override { return this; }
  FusedParts does() const override {
    if (config_.negative_slope != 0.0 || config_.threshold != 0.0) return {};
    if (std::isnan(config_.max_value)) return {.activation = ops::Activation::relu};
    if (config_.max_value == 6.0) return {.activation = ops::Activation::relu6};
    return {};
  }

 private:
  ReLUConfig config_;
  ops::ReluDescriptor parameters_;
};

}  // namespace

ReLU::ReLU(const Config& config) : Layer(node_from<ReLUNode>(config)) {}

}  // namespace nyala
