#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/core/einsum_dense.h>

#include <nyala/api/initializers/variance_scaling.h>
#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/fused_activation.h>
#include <nyala/api/layers/base/lora.h>
#include <nyala/api/layers/core/einsum_dense_shapes.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/nn/dense.h>
#include <nyala/backend/ops/nn/einsum.h>
#include <nyala/backend/ops/shape/shape.h>

namespace nyala {

using namespace nyala::detail;

void EinsumDenseConfig::fields(FieldVisitor& v) {
  v.field("equation", equation);
  v.field("output_shape", output_shape);
  v.field("activation", activation);
  v.optional("bias_axes", bias_axes);
  visit_weights(v, *this);
  visit_lora(v, *this);
}

namespace {

class EinsumDenseNode final : public LayerNode, public HasLora {
 public:
  explicit EinsumDenseNode(const EinsumDenseConfig& config)
      : config_(config), equation_(read_dense_equation(config.equation)), activation_(config.activation) {
    if (config.output_shape.empty())
      throw InvalidArgumentError("EinsumDense: expected an output_shape, received none");
  }
  std::string class_name() const override { return "EinsumDense"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  void build(Builder& b, const Shape& input) override {
    const EinsumDenseShapes shapes =
        shapes_of_dense(equation_, input, config_.output_shape, config_.bias_axes);
    kernel_ = b.weight("kernel", shapes.kernel,
                       with_fan_axes(config_.kernel_initializer, shapes.input_axes, shapes.output_axes),
                       {config_.kernel_regularizer, config_.kernel_constraint});
    if (!config_.bias_axes.empty())
      bias_ = b.weight("bias", shapes.bias, config_.bias_initializer,
                       {config_.bias_regularizer, config_.bias_constraint});
    if (config_.lora_rank > 0) enable_lora(config_.lora_rank, {.lora_alpha = config_.lora_alpha});
    const std::string made = equation_.kernel.substr(static_cast<size_t>(shapes.input_axes.size()));
    plain_ =
        is_plain_product(equation_, contracted_) && (config_.bias_axes.empty() || config_.bias_axes == made);
  }

  Tensor call(Call& c, const Tensor& input) const override {
    const Tensor x = as_floating(input, compute_dtype());
    const Tensor kernel = lora_.adapted(c, kernel_), bias = bias_ ? c[bias_] : Tensor();
    const Tensor y = plain_ && !x.is_abstract() ? plain_product(x, kernel, bias) : product(x, kernel, bias);
    if (config_.activity_regularizer) add_activity_loss(c, config_.activity_regularizer, y);
    return y;
  }

  void enable_lora(int64_t rank, const LoraConfig& config) override {
    lora_.enable(*this, kernel_, rank, config);
    note_lora(config_, lora_);
  }
  const Lora& lora() const override { return lora_; }
  const Variable& lora_kernel() const override { return kernel_; }

 private:
  /// One product of matrices with bias and activation in the same pass; only shapes change around it.
  Tensor plain_product(const Tensor& x, const Tensor& kernel, const Tensor& bias) const {
    const int64_t inner = kernel.shape().slice(0, contracted_).num_elements();
    const Shape made = kernel.shape().slice(contracted_, kernel.rank());
    Shape flat = x.shape().slice(0, x.rank() - contracted_), full = flat;
    flat.append(inner);
    for (const int64_t size : made) full.append(size);
    const int64_t units = made.num_elements();
    const Tensor z = ops::dense(
        contracted_ == 1 ? x : ops::reshape(x, flat),
        made.rank() + contracted_ == 2 ? kernel : ops::reshape(kernel, {inner, units}),
        !bias.defined() || bias.rank() == 1 ? bias : ops::reshape(bias, {units}), activation_.fused());
    return activation_.rest(made.rank() == 1 ? z : ops::reshape(z, full));
  }

  Tensor product(const Tensor& x, const Tensor& kernel, const Tensor& bias) const {
    const Tensor z = ops::einsum(config_.equation, {x, kernel});
    return config_.activation(bias.defined() ? z + bias : z);
  }

  EinsumDenseConfig config_;
  EinsumDenseEquation equation_;
  FusedActivation activation_;
  bool plain_ = false;
  int contracted_ = 0;
  Variable kernel_, bias_;
  Lora lora_;
};

EinsumDenseConfig with_equation(EinsumDenseConfig config, std::string equation, std::vector<int64_t> shape) {
  config.equation = std::move(equation);
  config.output_shape = std::move(shape);
  return config;
}

}  // namespace

EinsumDense::EinsumDense(const Config& config) : Layer(node_from<EinsumDenseNode>(config)) {}

EinsumDense::EinsumDense(std::string equation, std::vector<int64_t> output_shape, Config config)
    : EinsumDense(with_equation(std::move(config), std::move(equation), std::move(output_shape))) {}

}  // namespace nyala
