#include <nyala/api/layers/arguments.h>
#include <nyala/api/layers/max_pooling2d.h>
#include <nyala/backend/ops/pooling.h>

namespace nyala {

void MaxPooling2DConfig::fields(FieldVisitor& v) {
  visit_size(v, "pool_size", pool_size);
  visit_size(v, "strides", strides);
  v.field("padding", padding);
  v.field("data_format", data_format);
}

namespace {

MaxPooling2DConfig checked(MaxPooling2DConfig config) {
  check_positive("MaxPooling2D", "pool_size", config.pool_size);
  if (!config.strides.given()) config.strides = config.pool_size;
  check_positive("MaxPooling2D", "strides", config.strides);
  config.padding = checked_padding("MaxPooling2D", config.padding);
  check_data_format("MaxPooling2D", config.data_format);
  return config;
}

class MaxPooling2DNode final : public LayerNode {
 public:
  explicit MaxPooling2DNode(const MaxPooling2DConfig& config)
      : config_(checked(config)),
        options_{config_.pool_size.to_array(), config_.strides.to_array(), ops::Padding2D(config_.padding)} {}
  std::string class_name() const override { return "MaxPooling2D"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  using LayerNode::build;
  void build(Builder&, const Shape& input) override {
    check_image(input);
    check_window(input, {config_.pool_size, config_.strides, 1, config_.padding});
  }

  using LayerNode::call;
  Tensor call(Call&, const Tensor& x) const override { return ops::max_pooling2d(x, options_); }

 private:
  MaxPooling2DConfig config_;
  ops::Pooling2DOptions options_;
};

}  // namespace

MaxPooling2D::MaxPooling2D(const Config& config)
    : Layer(finish_layer(std::make_shared<MaxPooling2DNode>(config),
                         {config.name, config.trainable, config.dtype})) {}

MaxPooling2D::MaxPooling2D(Size2D pool_size, Config config)
    : MaxPooling2D([&] {
        config.pool_size = pool_size;
        return std::move(config);
      }()) {}

}  // namespace nyala
