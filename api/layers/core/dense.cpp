#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/core/dense.h>

#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/fusable.h>
#include <nyala/api/layers/base/fused_activation.h>
#include <nyala/api/layers/base/lora.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/nn/dense.h>

namespace nyala {

using namespace nyala::detail;

void DenseConfig::fields(FieldVisitor& v) {
  v.field("units", units);
  visit_activation_and_weights(v, *this);
  visit_lora(v, *this);
}

namespace {

class DenseNode final : public LayerNode, public Fusable, public HasLora {
 public:
  explicit DenseNode(const DenseConfig& config) : config_(config), activation_(config.activation) {
    if (config.units <= 0)
      throw InvalidArgumentError("Dense: expected units > 0, received " + std::to_string(config.units));
  }
  std::string class_name() const override { return "Dense"; }
  bool supports_masking() const override { return true; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  void build(Builder& b, const Shape& input) override {
    if (input.rank() < 2 || input.back() == None)
      throw ShapeError("expected an input of rank 2 or more with a known last size, received " +
                       input.to_string() + missing_batch_axis(input, 2));
    kernel_ = b.weight("kernel", {input.back(), config_.units}, config_.kernel_initializer,
                       {config_.kernel_regularizer, config_.kernel_constraint});
    if (config_.use_bias)
      bias_ = b.weight("bias", {config_.units}, config_.bias_initializer,
                       {config_.bias_regularizer, config_.bias_constraint});
    if (config_.lora_rank > 0) enable_lora(config_.lora_rank, {.lora_alpha = config_.lora_alpha});
  }

  Tensor call(Call& c, const Tensor& input) const override {
    const Tensor x = as_floating(input, compute_dtype());
    const Tensor kernel = lora_.adapted(c, kernel_);
    const Tensor bias = bias_ ? c[bias_] : Tensor();
    const Tensor y = activation_.rest(ops::dense(x, kernel, bias, activation_.fused()));
    if (config_.activity_regularizer) add_activity_loss(c, config_.activity_regularizer, y);
    return y;
  }

  const Fusable* fusable() const override { return this; }
  Variables weights() const override { return affine_weights(config_, kernel_, bias_); }
  bool takes(const FusedParts& parts) const override {
    return is_affine(config_) && !lora_.enabled() && !parts.sum && !parts.padding;
  }
  Tensor call_fused(Call&, const Tensor& x, const FusedCall& fused) const override {
    return ops::dense(as_floating(x, compute_dtype()), fused.kernel, fused.bias, fused.parts.activation);
  }

  void enable_lora(int64_t rank, const LoraConfig& config) override {
    lora_.enable(*this, kernel_, rank, config);
    note_lora(config_, lora_);
  }
  const Lora& lora() const override { return lora_; }
  const Variable& lora_kernel() const override { return kernel_; }

 private:
  DenseConfig config_;
  FusedActivation activation_;
  Variable kernel_, bias_;
  Lora lora_;
};

}  // namespace

Dense::Dense(const Config& config) : Layer(node_from<DenseNode>(config)) {}

Dense::Dense(int64_t units, Config config) : Dense(with(std::move(config), &Config::units, units)) {}

}  // namespace nyala
