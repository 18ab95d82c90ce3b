#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/base/custom_scale_layer.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>

namespace nyala {

using namespace nyala::detail;

void CustomScaleLayerConfig::fields(FieldVisitor& v) { v.field("scale", scale); }

namespace {

class CustomScaleLayerNode final : public LayerNode {
 public:
  explicit CustomScaleLayerNode(const CustomScaleLayerConfig& config) : config_(config) {}
  std::string class_name() const override { return "CustomScaleLayer"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }
  bool takes_many() const override { return true; }

  void build(Builder&, const Shapes& inputs) override {
    if (inputs.size() != 2)
      throw InvalidArgumentError("expected two input tensors, received " + std::to_string(inputs.size()));
    if (inputs[0].rank() != inputs[1].rank())
      throw ShapeError("expected two inputs of one shape, received " + inputs[0].to_string() + " and " +
                       inputs[1].to_string());
  }

  Outputs call(Call&, Inputs inputs) const override {
    return {ops::add(inputs[0], ops::affine(inputs[1], config_.scale))};
  }

 private:
  CustomScaleLayerConfig config_;
};

}  // namespace

CustomScaleLayer::CustomScaleLayer(const Config& config) : Layer(node_from<CustomScaleLayerNode>(config)) {}

CustomScaleLayer::CustomScaleLayer(double scale, Config config)
    : CustomScaleLayer(with(std::move(config), &Config::scale, scale)) {}

}  // namespace nyala
