#include <nyala/api/layers/arguments.h>
#include <nyala/api/layers/dense.h>

#include <nyala/api/layers/arguments.h>
#include <nyala/api/layers/foldable.h>
#include <nyala/api/layers/fused_activation.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/arithmetic.h>
#include <nyala/backend/ops/dense.h>

namespace nyala {

using namespace nyala::detail;

void DenseConfig::fields(FieldVisitor& v) {
  v.field("units", units);
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

class DenseNode final : public LayerNode, public FoldableLayer {
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
  }

  Tensor call(Call& c, const Tensor& input) const override {
    const Tensor x = as_floating(input, dtype());
    const Tensor kernel = c[kernel_];
    const Tensor bias = bias_ ? c[bias_] : Tensor();
    const Tensor y = activation_.rest(ops::dense(x, kernel, bias, activation_.fused()));
    if (config_.activity_regularizer) add_activity_loss(c, config_.activity_regularizer, y);
    return y;
  }

  bool is_affine() const override { return config_.activation.is_linear() && !config_.activity_regularizer; }
  bool takes_activation() const override { return true; }
  const Variable& kernel() const override { return kernel_; }
  const Variable& bias() const override { return bias_; }
  Tensor scaled(const Tensor& kernel, const Tensor& scale) const override { return kernel * scale; }
  Tensor call_with(Call&, const Tensor& x, const FoldedCall& changes) const override {
    return ops::dense(as_floating(x, dtype()), changes.kernel, changes.bias, changes.activation);
  }

 private:
  DenseConfig config_;
  FusedActivation activation_;
  Variable kernel_, bias_;
};

DenseConfig with_units(DenseConfig config, int64_t units) {
  config.units = units;
  return config;
}

}  // namespace

Dense::Dense(const Config& config)
    : Layer(
          finish_layer(std::make_shared<DenseNode>(config), {config.name, config.trainable, config.dtype})) {}

Dense::Dense(int64_t units, Config config) : Dense(with_units(std::move(config), units)) {}

}  // namespace nyala
