#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/channels_first.h>
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/base/fused_activation.h>
#include <nyala/api/layers/base/lora.h>
#include <nyala/api/layers/convolutional/convolution.h>
#include <nyala/api/layers/convolutional/convolution_support.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>

namespace nyala {

using namespace nyala::detail;

template <size_t N>
void ConvolutionConfig<N>::fields(FieldVisitor& v) {
  v.field("filters", filters);
  visit_window(v, *this);
  v.field("data_format", data_format);
  visit_size(v, "dilation_rate", dilation_rate);
  v.field("groups", groups);
  visit_activation_and_weights(v, *this);
  visit_lora(v, *this);
}

template struct ConvolutionConfig<1>;
template struct ConvolutionConfig<2>;
template struct ConvolutionConfig<3>;

namespace {

std::string convolution_name(size_t axes) { return "Conv" + std::to_string(axes) + "D"; }

template <size_t N>
ConvolutionConfig<N> checked(ConvolutionConfig<N> config) {
  const std::string layer = convolution_name(N);
  check_positive(layer, "filters", config.filters);
  check_kernel_sizes(layer, config);
  check_positive(layer, "groups", Size<1>(config.groups));
  check_image_settings(layer, config, N == 1);
  if (config.filters % config.groups != 0)
    throw InvalidArgumentError(layer + ": expected filters that groups divide, received filters " +
                               std::to_string(config.filters) + " and groups " +
                               std::to_string(config.groups));
  check_strides_or_dilation(layer, config.strides, config.dilation_rate);
  return config;
}

template <size_t N>
class ConvolutionNode : public LayerNode, public Fusable, public HasLora {
 public:
  explicit ConvolutionNode(const ConvolutionConfig<N>& config)
      : config_(checked(config)),
        activation_(config.activation),
        options_{sizes_in_image(config_.strides),
                 padding_of(config_.padding, config_.kernel_size, config_.dilation_rate),
                 sizes_in_image(config_.dilation_rate), static_cast<int>(config_.groups),
                 activation_.fused()} {}
  std::string class_name() const override { return convolution_name(N); }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  void build(Builder& b, const Shape& input) override {
    check_channels_known(input, N);
    if (input.back() % config_.groups != 0)
      throw ShapeError("expected channels that groups (" + std::to_string(config_.groups) +
                       ") divide, received " + input.to_string());
    check_window(input, {config_.kernel_size, config_.strides, config_.dilation_rate, config_.padding});
    kernel_ =
        b.weight("kernel", kernel_shape(config_.kernel_size, input.back() / config_.groups, config_.filters),
                 config_.kernel_initializer, {config_.kernel_regularizer, config_.kernel_constraint});
    bias_ = bias_weight(b, config_, config_.filters);
    if (config_.lora_rank > 0) enable_lora(config_.lora_rank, {.lora_alpha = config_.lora_alpha});
  }

  Tensor call(Call& c, const Tensor& input) const override {
    const Tensor x = as_floating(input, compute_dtype());
    const Tensor kernel = lora_.adapted(c, kernel_);
    const Tensor bias = bias_ ? c[bias_] : Tensor();
    const Tensor y = activation_.rest(convolve<N>(std::array{&x, &kernel, &bias}, options_));
    if (config_.activity_regularizer) add_activity_loss(c, config_.activity_regularizer, y);
    return y;
  }

  const Fusable* fusable() const override { return this; }
  Variables weights() const override { return affine_weights(config_, kernel_, bias_); }
  bool takes(const FusedParts& parts) const override {
    if (lora_.enabled() || (N != 2 && (parts.sum || parts.padding))) return false;
    return is_affine(config_) && (!parts.padding || config_.padding == "valid");
  }
  Tensor call_fused(Call&, const Tensor& x, const FusedCall& fused) const override {
    return convolve<N>(as_floating(x, compute_dtype()), fused, options_);
  }

  void enable_lora(int64_t rank, const LoraConfig& config) override {
    lora_.enable(*this, kernel_, rank, config);
    note_lora(config_, lora_);
  }
  const Lora& lora() const override { return lora_; }
  const Variable& lora_kernel() const override { return kernel_; }

 private:
  ConvolutionConfig<N> config_;
  FusedActivation activation_;
  ops::ConvolutionOptions<N == 3 ? 3 : 2> options_;
  Variable kernel_, bias_;
  Lora lora_;
};

template <size_t N>
std::shared_ptr<LayerNode> make(const ConvolutionConfig<N>& config) {
  return make_image_layer<ConvolutionNode<N>>(config);
}

}  // namespace

Conv1D::Conv1D(const Config& config) : Layer(make(config)) {}
Conv1D::Conv1D(int64_t filters, Size1D kernel_size, Config config)
    : Conv1D(with_filters(std::move(config), filters, kernel_size)) {}

Conv2D::Conv2D(const Config& config) : Layer(make(config)) {}
Conv2D::Conv2D(int64_t filters, Size2D kernel_size, Config config)
    : Conv2D(with_filters(std::move(config), filters, kernel_size)) {}

Conv3D::Conv3D(const Config& config) : Layer(make(config)) {}
Conv3D::Conv3D(int64_t filters, Size3D kernel_size, Config config)
    : Conv3D(with_filters(std::move(config), filters, kernel_size)) {}

}  // namespace nyala
