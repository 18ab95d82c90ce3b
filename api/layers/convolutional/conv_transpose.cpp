#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/channels_first.h>
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/base/fused_activation.h>
#include <nyala/api/layers/convolutional/conv_transpose.h>
#include <nyala/api/layers/convolutional/convolution_support.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/nn/conv_transpose.h>

namespace nyala {

using namespace nyala::detail;

template <size_t N>
void ConvTransposeConfig<N>::fields(FieldVisitor& v) {
  v.field("filters", filters);
  visit_window(v, *this);
  if constexpr (N < 3) visit_size(v, "output_padding", output_padding);
  v.field("data_format", data_format);
  if constexpr (N == 3) visit_size(v, "output_padding", output_padding);
  visit_size(v, "dilation_rate", dilation_rate);
  visit_activation_and_weights(v, *this);
}

template struct ConvTransposeConfig<1>;
template struct ConvTransposeConfig<2>;
template struct ConvTransposeConfig<3>;

namespace {

std::string conv_transpose_name(size_t axes) { return "Conv" + std::to_string(axes) + "DTranspose"; }

template <size_t N>
void check_output_padding(const std::string& layer, const ConvTransposeConfig<N>& config) {
  if (!config.output_padding.given()) return;
  for (size_t i = 0; i < N; ++i)
    if (config.output_padding[i] < 0 || config.output_padding[i] >= config.strides[i])
      throw InvalidArgumentError(layer + ": expected output_padding from 0 to below the strides " +
                                 config.strides.to_string() + ", received " +
                                 config.output_padding.to_string());
}

template <size_t N>
ConvTransposeConfig<N> checked(ConvTransposeConfig<N> config) {
  const std::string layer = conv_transpose_name(N);
  check_positive(layer, "filters", config.filters);
  check_kernel_sizes(layer, config);
  check_image_settings(layer, config);
  check_output_padding(layer, config);
  check_strides_or_dilation(layer, config.strides, config.dilation_rate);
  return config;
}

template <size_t N>
using Options = ops::ConvTransposeOptions<N == 3 ? 3 : 2>;

template <size_t N>
Options<N> options_of(const ConvTransposeConfig<N>& config) {
  Options<N> options{
      sizes_in_image(config.strides), config.padding, {}, sizes_in_image(config.dilation_rate)};
  if (config.output_padding.given()) options.output_padding = sizes_in_image(config.output_padding);
  if (N == 1 && options.output_padding) (*options.output_padding)[0] = 0;  // of the one row
  return options;
}

template <size_t N>
class ConvTransposeNode : public LayerNode, public Fusable {
 public:
  explicit ConvTransposeNode(const ConvTransposeConfig<N>& config)
      : config_(checked(config)), options_(options_of(config_)) {}
  std::string class_name() const override { return conv_transpose_name(N); }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  void build(Builder& b, const Shape& input) override {
    check_channels_known(input, N);
    kernel_ = b.weight("kernel", kernel_shape(config_.kernel_size, config_.filters, input.back()),
                       config_.kernel_initializer, {config_.kernel_regularizer, config_.kernel_constraint});
    bias_ = bias_weight(b, config_, config_.filters);
  }

  Tensor call(Call& c, const Tensor& input) const override {
    const Tensor x = as_floating(input, compute_dtype());
    const Tensor y = config_.activation(transpose(x, c[kernel_], bias_ ? c[bias_] : Tensor()));
    if (config_.activity_regularizer) add_activity_loss(c, config_.activity_regularizer, y);
    return y;
  }

  const Fusable* fusable() const override { return this; }
  Variables weights() const override { return affine_weights(config_, kernel_, bias_); }
  Tensor scaled(const Tensor& kernel, const Tensor& scale) const override {
    return kernel * scale.with_shape({config_.filters, 1});
  }
  Tensor call_fused(Call&, const Tensor& x, const FusedCall& fused) const override {
    return transpose(as_floating(x, compute_dtype()), fused.kernel, fused.bias);
  }

 private:
  Tensor transpose(const Tensor& x, const Tensor& kernel, const Tensor& bias) const {
    if constexpr (N == 3)
      return ops::conv3d_transpose(x, kernel, bias, options_);
    else
      return from_images<N>(
          ops::conv2d_transpose(as_images<N>(x), as_image_kernel<N>(kernel), bias, options_));
  }

  ConvTransposeConfig<N> config_;
  Options<N> options_;
  Variable kernel_, bias_;
};

template <size_t N>
std::shared_ptr<LayerNode> make(const ConvTransposeConfig<N>& config) {
  return make_image_layer<ConvTransposeNode<N>>(config);
}

}  // namespace

Conv1DTranspose::Conv1DTranspose(const Config& config) : Layer(make(config)) {}
Conv1DTranspose::Conv1DTranspose(int64_t filters, Size1D kernel_size, Config config)
    : Conv1DTranspose(with_filters(std::move(config), filters, kernel_size)) {}

Conv2DTranspose::Conv2DTranspose(const Config& config) : Layer(make(config)) {}
Conv2DTranspose::Conv2DTranspose(int64_t filters, Size2D kernel_size, Config config)
    : Conv2DTranspose(with_filters(std::move(config), filters, kernel_size)) {}

Conv3DTranspose::Conv3DTranspose(const Config& config) : Layer(make(config)) {}
Conv3DTranspose::Conv3DTranspose(int64_t filters, Size3D kernel_size, Config config)
    : Conv3DTranspose(with_filters(std::move(config), filters, kernel_size)) {}

}  // namespace nyala
