#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/channels_first.h>
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/base/fused_activation.h>
#include <nyala/api/layers/convolutional/convolution_support.h>
#include <nyala/api/layers/convolutional/depthwise_conv.h>
#include <nyala/backend/core/to_int.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>

namespace nyala {

using namespace nyala::detail;

template <size_t N>
void DepthwiseConvConfig<N>::fields(FieldVisitor& v) {
  visit_window(v, *this);
  v.field("depth_multiplier", depth_multiplier);
  v.field("data_format", data_format);
  visit_size(v, "dilation_rate", dilation_rate);
  visit_activation_and_weights(v, *this);
}

template struct DepthwiseConvConfig<1>;
template struct DepthwiseConvConfig<2>;

namespace {

std::string depthwise_conv_name(size_t axes) { return "DepthwiseConv" + std::to_string(axes) + "D"; }

template <size_t N>
DepthwiseConvConfig<N> checked(DepthwiseConvConfig<N> config) {
  const std::string layer = depthwise_conv_name(N);
  check_kernel_sizes(layer, config);
  check_positive(layer, "depth_multiplier", config.depth_multiplier);
  check_image_settings(layer, config);
  return config;
}

template <size_t N>
class DepthwiseConvNode : public LayerNode, public Fusable {
 public:
  explicit DepthwiseConvNode(const DepthwiseConvConfig<N>& config)
      : config_(checked(config)),
        activation_(config.activation),
        options_{.strides = sizes_in_image(config_.strides),
                 .padding = config_.padding,
                 .dilation = sizes_in_image(config_.dilation_rate),
                 .activation = activation_.fused()} {}
  std::string class_name() const override { return depthwise_conv_name(N); }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  void build(Builder& b, const Shape& input) override {
    check_channels_known(input, N);
    check_window(input, {config_.kernel_size, config_.strides, config_.dilation_rate, config_.padding});
    const int64_t channels = input.back();
    options_.groups = to_int(channels, "channels");
    kernel_ = b.weight("kernel", kernel_shape(config_.kernel_size, channels, config_.depth_multiplier),
                       config_.depthwise_initializer,
                       {config_.depthwise_regularizer, config_.depthwise_constraint});
    bias_ = bias_weight(b, config_, channels * config_.depth_multiplier);
  }

  Tensor call(Call& c, const Tensor& input) const override {
    const Tensor x = as_floating(input, compute_dtype());
    const Tensor kernel = as_grouped_kernel(c[kernel_]);
    const Tensor bias = bias_ ? c[bias_] : Tensor();
    const Tensor y = activation_.rest(convolve<N>(std::array{&x, &kernel, &bias}, options_));
    if (config_.activity_regularizer) add_activity_loss(c, config_.activity_regularizer, y);
    return y;
  }

  const Fusable* fusable() const override { return this; }
  Variables weights() const override { return affine_weights(config_, kernel_, bias_); }
  bool takes(const FusedParts& parts) const override {
    return is_affine(config_) && !parts.sum && (!parts.padding || (N == 2 && config_.padding == "valid"));
  }
  Tensor scaled(const Tensor& kernel, const Tensor& scale) const override {
    return kernel * scale.with_shape({kernel.shape()[-2], kernel.shape()[-1]});
  }
  Tensor call_fused(Call&, const Tensor& x, const FusedCall& fused) const override {
    FusedCall grouped = fused;
    grouped.kernel = as_grouped_kernel(fused.kernel);
    return convolve<N>(as_floating(x, compute_dtype()), grouped, options_);
  }

 private:
  DepthwiseConvConfig<N> config_;
  FusedActivation activation_;
  ops::Conv2DOptions options_;
  Variable kernel_, bias_;
};

template <size_t N>
std::shared_ptr<LayerNode> make(const DepthwiseConvConfig<N>& config) {
  return make_image_layer<DepthwiseConvNode<N>>(config);
}

}  // namespace

DepthwiseConv1D::DepthwiseConv1D(const Config& config) : Layer(make(config)) {}
DepthwiseConv1D::DepthwiseConv1D(Size1D kernel_size, Config config)
    : DepthwiseConv1D(with(std::move(config), &Config::kernel_size, kernel_size)) {}

DepthwiseConv2D::DepthwiseConv2D(const Config& config) : Layer(make(config)) {}
DepthwiseConv2D::DepthwiseConv2D(Size2D kernel_size, Config config)
    : DepthwiseConv2D(with(std::move(config), &Config::kernel_size, kernel_size)) {}

}  // namespace nyala
