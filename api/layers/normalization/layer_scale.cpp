#include <nyala/api/initializers/constant.h>
#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/normalization/layer_scale.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>

namespace nyala {

using namespace nyala::detail;

void LayerScaleConfig::fields(FieldVisitor& v) {
  v.field("init_values", init_values);
  v.field("projection_dim", projection_dim);
}

namespace {

class LayerScaleNode final : public LayerNode {
 public:
  explicit LayerScaleNode(const LayerScaleConfig& config) : config_(config) {
    check_positive("LayerScale", "projection_dim", config.projection_dim);
  }
  std::string class_name() const override { return "LayerScale"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  void build(Builder& b, const Shape& input) override {
    if (input.rank() < 2 || (input.back() != None && input.back() != config_.projection_dim))
      throw ShapeError("expected an input of " + std::to_string(config_.projection_dim) +
                       " channels, received shape " + input.to_string());
    // Keras' automatic name of a weight without one: "variable", "variable_1".
    scale_ = b.weight(unique_name("Variable"), {config_.projection_dim}, Constant(config_.init_values));
  }

  Tensor call(Call& c, const Tensor& x) const override { return ops::multiply(x, c[scale_]); }

 private:
  LayerScaleConfig config_;
  Variable scale_;
};

}  // namespace

LayerScale::LayerScale(const Config& config) : Layer(node_from<LayerScaleNode>(config)) {}

LayerScale::LayerScale(double init_values, int64_t projection_dim, Config config)
    : LayerScale(with(std::move(config), &Config::init_values, init_values, &Config::projection_dim,
                      projection_dim)) {}

}  // namespace nyala
