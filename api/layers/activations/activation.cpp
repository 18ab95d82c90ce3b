#include <nyala/api/layers/activations/activation.h>
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/base/fusable.h>
#include <nyala/api/layers/base/fused_activation.h>

namespace nyala {

using namespace nyala::detail;

void ActivationConfig::fields(FieldVisitor& v) { v.field("activation", activation); }

namespace {

class ActivationNode final : public LayerNode, public Fusable {
 public:
  explicit ActivationNode(const ActivationConfig& config) : config_(config) {}
  std::string class_name() const override { return "Activation"; }
  bool supports_masking() const override { return true; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  Tensor call(Call&, const Tensor& x) const override { return config_.activation(x); }
  const Fusable* fusable() const override { return this; }
  FusedParts does() const override {
    const bool relu6 = !config_.activation.is_custom() && config_.activation.name() == "relu6";
    return {.activation = relu6 ? ops::Activation::relu6 : FusedActivation(config_.activation).fused()};
  }

 private:
  ActivationConfig config_;
};

}  // namespace

Activation::Activation(const Config& config) : Layer(node_from<ActivationNode>(config)) {}

Activation::Activation(ActivationArgument activation, Config config)
    : Activation(with(std::move(config), &Config::activation, std::move(activation))) {}

}  // namespace nyala
