#include <nyala/api/layers/arguments.h>
#include <nyala/api/layers/conv2d.h>
#include <nyala/api/layers/fused_activation.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/conv2d.h>

namespace nyala {

void Conv2DConfig::fields(FieldVisitor& v) {
  v.field("filters", filters);
  visit_size(v, "kernel_size", kernel_size);
  visit_size(v, "strides", strides);
  v.field("padding", padding);
  v.field("data_format", data_format);
  visit_size(v, "dilation_rate", dilation_rate);
  v.field("groups", groups);
  v.field("activation", activation);
  v.field("use_bias", use_bias);
  v.field("kernel_initializer", kernel_initializer);
  v.field("bias_initializer", bias_initializer);
  v.field("kernel_regularizer", kernel_regularizer);
  v.field("bias_regularizer", bias_regularizer);
  v.field("activity_regularizer", activity_regularizer);
  v.field("kernel_constraint", kernel_constraint);
  v.field("bias_constraint", bias_constraint);
}

namespace {

Conv2DConfig checked(Conv2DConfig config) {
  check_positive("Conv2D", "filters", config.filters);
  check_positive("Conv2D", "kernel_size", config.kernel_size);
  check_positive("Conv2D", "strides", config.strides);
  check_positive("Conv2D", "dilation_rate", config.dilation_rate);
  check_positive("Conv2D", "groups", config.groups);
  config.padding = checked_padding("Conv2D", config.padding);
  check_data_format("Conv2D", config.data_format);
  if (config.filters % config.groups != 0)
    throw InvalidArgumentError("Conv2D: expected filters that groups divide, received filters " +
                               std::to_string(config.filters) + " and groups " +
                               std::to_string(config.groups));
  if (config.strides.largest() > 1 && config.dilation_rate.largest() > 1)
    throw InvalidArgumentError("Conv2D: expected strides or dilation_rate to be 1, received strides " +
                               config.strides.to_string() + " and dilation_rate " +
                               config.dilation_rate.to_string());
  return config;
}

ops::Conv2DOptions options_of(const Conv2DConfig& config, const FusedActivation& activation) {
  return {.strides = config.strides.to_array(),
          .padding = config.padding,
          .dilation = config.dilation_rate.to_array(),
          .groups = static_cast<int>(config.groups),
          .activation = activation.fused()};
}

class Conv2DNode final : public LayerNode {
 public:
  explicit Conv2DNode(const Conv2DConfig& config)
      : config_(checked(config)),
        activation_(config.activation),
        options_(options_of(config_, activation_)) {}
  std::string class_name() const override { return "Conv2D"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  using LayerNode::build;
  void build(Builder& b, const Shape& input) override {
    check_input(input);
    const int64_t in = input.back() / config_.groups;
    kernel_ =
        b.weight("kernel", {config_.kernel_size.rows(), config_.kernel_size.columns(), in, config_.filters},
                 config_.kernel_initializer, {config_.kernel_regularizer, config_.kernel_constraint});
    if (config_.use_bias)
      bias_ = b.weight("bias", {config_.filters}, config_.bias_initializer,
                       {config_.bias_regularizer, config_.bias_constraint});
  }

  using LayerNode::call;
  Tensor call(Call& c, const Tensor& x) const override {
    check_floating(x);
    const Tensor kernel = c[kernel_];
    const Tensor bias = bias_ ? c[bias_] : Tensor();
    const Tensor y = activation_.rest(ops::conv2d(x, kernel, bias, options_));
    if (config_.activity_regularizer) add_activity_loss(c, config_.activity_regularizer, y);
    return y;
  }

 private:
  void check_input(const Shape& input) const {
    check_image(input);
    if (input.back() == None)
      throw ShapeError("expected a known number of channels, received " + input.to_string());
    if (input.back() % config_.groups != 0)
      throw ShapeError("expected channels that groups (" + std::to_string(config_.groups) +
                       ") divide, received " + input.to_string());
    check_window(input, {config_.kernel_size, config_.strides, config_.dilation_rate, config_.padding});
  }

  Conv2DConfig config_;
  FusedActivation activation_;
  ops::Conv2DOptions options_;
  Variable kernel_, bias_;
};

}  // namespace

Conv2D::Conv2D(const Config& config)
    : Layer(finish_layer(std::make_shared<Conv2DNode>(config),
                         {config.name, config.trainable, config.dtype})) {}

Conv2D::Conv2D(int64_t filters, Size2D kernel_size, Config config)
    : Conv2D([&] {
        config.filters = filters;
        config.kernel_size = kernel_size;
        return std::move(config);
      }()) {}

}  // namespace nyala
