#include <nyala/api/layers/arguments.h>
#include <nyala/api/layers/average_pooling2d.h>
#include <nyala/backend/ops/pooling.h>

namespace nyala {

void AveragePooling2DConfig::fields(FieldVisitor& v) {
  visit_size(v, "pool_size", pool_size);
  visit_size(v, "strides", strides);
  v.field("padding", padding);
  v.field("data_format", data_format);
}

namespace {

AveragePooling2DConfig checked(AveragePooling2DConfig config) {
  check_positive("AveragePooling2D", "pool_size", config.pool_size);
  if (!config.strides.given()) config.strides = config.pool_size;
  check_positive("AveragePooling2D", "strides", config.strides);
  config.padding = checked_padding("AveragePooling2D", config.padding);
  check_data_format("AveragePooling2D", config.data_format);
  return config;
}

class AveragePooling2DNode final : public LayerNode {
 public:
  explicit AveragePooling2DNode(const AveragePooling2DConfig& config)
      : config_(checked(config)),
        options_{config_.pool_size.to_array(), config_.strides.to_array(), ops::Padding2D(config_.padding)} {}
  std::string class_name() const override { return "AveragePooling2D"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  using LayerNode::build;
  void build(Builder&, const Shape& input) override {
    check_image(input);
    check_window(input, {config_.pool_size, config_.strides, 1, config_.padding});
  }

  using LayerNode::call;
  Tensor call(Call&, const Tensor& x) const override { return ops::average_pooling2d(x, options_); }

 private:
  AveragePooling2DConfig config_;
  ops::Pooling2DOptions options_;
};

}  // namespace

AveragePooling2D::AveragePooling2D(const Config& config)
    : Layer(finish_layer(std::make_shared<AveragePooling2DNode>(config),
                         {config.name, config.trainable, config.dtype})) {}

AveragePooling2D::AveragePooling2D(Size2D pool_size, Config config)
    : AveragePooling2D([&] {
        config.pool_size = pool_size;
        return std::move(config);
      }()) {}

}  // namespace nyala
