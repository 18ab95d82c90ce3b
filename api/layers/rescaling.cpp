#include <nyala/api/layers/rescaling.h>
#include <nyala/backend/ops/arithmetic.h>
#include <nyala/backend/ops/cast.h>

namespace nyala {

void RescalingConfig::fields(FieldVisitor& v) {
  v.field("scale", scale);
  v.field("offset", offset);
}

namespace {

class RescalingNode final : public LayerNode {
 public:
  explicit RescalingNode(const RescalingConfig& config) : config_(config) {}
  std::string class_name() const override { return "Rescaling"; }
  bool supports_masking() const override { return true; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  using LayerNode::call;
  Tensor call(Call&, const Tensor& x) const override {
    return ops::affine(ops::cast(x, dtype()), config_.scale, config_.offset);
  }

 private:
  RescalingConfig config_;
};

}  // namespace

Rescaling::Rescaling(const Config& config)
    : Layer(finish_layer(std::make_shared<RescalingNode>(config),
                         {config.name, config.trainable, config.dtype})) {}

Rescaling::Rescaling(double scale, Config config)
    : Rescaling([&] {
        config.scale = scale;
        return std::move(config);
      }()) {}

}  // namespace nyala
