#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/normalization/layer_normalization.h>

#include <vector>

#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/trailing_axes.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/exponential.h>
#include <nyala/backend/ops/nn/layer_normalization.h>
#include <nyala/backend/ops/reduction/statistics.h>

namespace nyala {

using namespace nyala::detail;

void LayerNormalizationConfig::fields(FieldVisitor& v) {
  visit_axes(v, "axis", axis);
  v.field("epsilon", epsilon);
  v.field("center", center);
  v.field("scale", scale);
  v.field("rms_scaling", rms_scaling);
  v.field("beta_initializer", beta_initializer);
  v.field("gamma_initializer", gamma_initializer);
  v.field("beta_regularizer", beta_regularizer);
  v.field("gamma_regularizer", gamma_regularizer);
  v.field("beta_constraint", beta_constraint);
  v.field("gamma_constraint", gamma_constraint);
}

namespace {

class LayerNormalizationNode final : public LayerNode {
 public:
  explicit LayerNormalizationNode(const LayerNormalizationConfig& config) : config_(config) {
    check_axes("LayerNormalization", config.axis);
    check_not_negative("LayerNormalization", "epsilon", config.epsilon);
  }
  std::string class_name() const override { return "LayerNormalization"; }
  bool supports_masking() const override { return true; }
  void fields(FieldVisitor& v) override { config_.fields(v); }
  bool autocast() const override { return false; }

  void build(Builder& b, const Shape& input) override {
    const Shape sizes = TrailingAxes(config_.axis.list(), input).sizes(input);
    if (config_.scale || config_.rms_scaling)
      gamma_ = b.weight("gamma", sizes, config_.gamma_initializer,
                        {config_.gamma_regularizer, config_.gamma_constraint});
    if (config_.center && !config_.rms_scaling)
      beta_ = b.weight("beta", sizes, config_.beta_initializer,
                       {config_.beta_regularizer, config_.beta_constraint});
  }

  Tensor call(Call& c, const Tensor& input) const override {
    const TrailingAxes axes(config_.axis.list(), input.shape());
    const Tensor y = config_.rms_scaling ? scaled(axes.to_end(wide(input, compute_dtype())), c[gamma_])
                                         : normalized(c, input, axes);
    return ops::cast(axes.back(y), compute_dtype());
  }

 private:
  /// The op computes floats of 16 bits in float32 by itself. Other inputs may differ from the weights.
  Tensor normalized(Call& c, const Tensor& input, const TrailingAxes& axes) const {
    const bool fits = input.dtype() == compute_dtype();
    const Tensor x = fits ? input : wide(input, compute_dtype());
    const auto read = [&](const Variable& variable) {
      return !variable ? Tensor() : fits ? c[variable] : ops::cast(c[variable], x.dtype());
    };
    return ops::layer_normalization(axes.to_end(x), read(gamma_), read(beta_),
                                    {.epsilon = config_.epsilon, .axes = axes.count()});
  }

  Tensor scaled(const Tensor& x, const Tensor& gamma) const {
    std::vector<int> axes;
    for (int axis = -gamma.rank(); axis < 0; ++axis) axes.push_back(axis);
    return x * ops::rsqrt(ops::var(x, axes, true) + config_.epsilon) * ops::cast(gamma, x.dtype());
  }

  LayerNormalizationConfig config_;
  Variable gamma_, beta_;
};

}  // namespace

LayerNormalization::LayerNormalization(const Config& config)
    : Layer(node_from<LayerNormalizationNode>(config)) {}

LayerNormalization::LayerNormalization(int axis, Config config)
    : LayerNormalization(with(std::move(config), &Config::axis, axis)) {}

}  // namespace nyala
