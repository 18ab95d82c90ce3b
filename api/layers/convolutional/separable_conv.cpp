#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/channels_first.h>
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/base/fused_activation.h>
#include <nyala/api/layers/convolutional/convolution_support.h>
#include <nyala/api/layers/convolutional/separable_conv.h>
#include <nyala/backend/core/to_int.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>

namespace nyala {

using namespace nyala::detail;

template <size_t N>
void SeparableConvConfig<N>::fields(FieldVisitor& v) {
  v.field("filters", filters);
  visit_window(v, *this);
  v.field("data_format", data_format);
  visit_size(v, "dilation_rate", dilation_rate);
  v.field("depth_multiplier", depth_multiplier);
  visit_activation_and_weights(v, *this);
}

template struct SeparableConvConfig<1>;
template struct SeparableConvConfig<2>;

namespace {

std::string separable_conv_name(size_t axes) { return "SeparableConv" + std::to_string(axes) + "D"; }

template <size_t N>
SeparableConvConfig<N> checked(SeparableConvConfig<N> config) {
  const std::string layer = separable_conv_name(N);
  check_positive(layer, "filters", config.filters);
  check_kernel_sizes(layer, config);
  check_positive(layer, "depth_multiplier", config.depth_multiplier);
  check_image_settings(layer, config);
  return config;
}

template <size_t N>
class SeparableConvNode : public LayerNode, public Fusable {
 public:
  explicit SeparableConvNode(const SeparableConvConfig<N>& config)
      : config_(checked(config)),
        activation_(config.activation),
        depthwise_options_{.strides = sizes_in_image(config_.strides),
                           .padding = config_.padding,
                           .dilation = sizes_in_image(config_.dilation_rate)} {}
  std::string class_name() const override { return separable_conv_name(N); }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  void build(Builder& b, const Shape& input) override {
    check_channels_known(input, N);
    check_window(input, {config_.kernel_size, config_.strides, config_.dilation_rate, config_.padding});
    const int64_t channels = input.back();
    depthwise_options_.groups = to_int(channels, "channels");
    depthwise_ = b.weight(
        "depthwise_kernel", kernel_shape(config_.kernel_size, channels, config_.depth_multiplier),
        config_.depthwise_initializer, {config_.depthwise_regularizer, config_.depthwise_constraint});
    pointwise_ = b.weight(
        "pointwise_kernel", kernel_shape(Size<N>(1), channels * config_.depth_multiplier, config_.filters),
        config_.pointwise_initializer, {config_.pointwise_regularizer, config_.pointwise_constraint});
    bias_ = bias_weight(b, config_, config_.filters);
  }

  Tensor call(Call& c, const Tensor& input) const override {
    const Tensor x = as_floating(input, compute_dtype());
    const Tensor channels = by_channel(c, x), pointwise = c[pointwise_];
    const Tensor bias = bias_ ? c[bias_] : Tensor();
    const Tensor y = activation_.rest(
        convolve<N>(std::array{&channels, &pointwise, &bias}, {.activation = activation_.fused()}));
    if (config_.activity_regularizer) add_activity_loss(c, config_.activity_regularizer, y);
    return y;
  }

  const Fusable* fusable() const override { return this; }
  Variables weights() const override { return affine_weights(config_, pointwise_, bias_); }
  bool takes(const FusedParts& parts) const override {
    return is_affine(config_) && !parts.padding && (N == 2 || !parts.sum);
  }
  Tensor call_fused(Call& c, const Tensor& input, const FusedCall& fused) const override {
    return convolve<N>(by_channel(c, as_floating(input, compute_dtype())), fused, {});
  }

 private:
  Tensor by_channel(Call& c, const Tensor& x) const {
    const Tensor depthwise = as_grouped_kernel(c[depthwise_]), none;
    return convolve<N>(std::array{&x, &depthwise, &none}, depthwise_options_);
  }

  SeparableConvConfig<N> config_;
  FusedActivation activation_;
  ops::Conv2DOptions depthwise_options_;
  Variable depthwise_, pointwise_, bias_;
};

template <size_t N>
std::shared_ptr<LayerNode> make(const SeparableConvConfig<N>& config) {
  return make_image_layer<SeparableConvNode<N>>(config);
}

}  // namespace

SeparableConv1D::SeparableConv1D(const Config& config) : Layer(make(config)) {}
SeparableConv1D::SeparableConv1D(int64_t filters, Size1D kernel_size, Config config)
    : SeparableConv1D(with_filters(std::move(config), filters, kernel_size)) {}

SeparableConv2D::SeparableConv2D(const Config& config) : Layer(make(config)) {}
SeparableConv2D::SeparableConv2D(int64_t filters, Size2D kernel_size, Config config)
    : SeparableConv2D(with_filters(std::move(config), filters, kernel_size)) {}

}  // namespace nyala
