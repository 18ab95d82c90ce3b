// Ioffe and Szegedy 2015; the formulas are an op's (backend/ops/nn/batch_normalization.h). Statistics are
// those of the global batch: replicas bring their moments together inside the op, and so the moving ones are
// equal on all. As in Keras all of it is computed in float32 where the layer computes in 16 bits. Masked
// steps go by Keras' formula of weighted sums, made of plain ops. Axes other than the last are moved to the
// end and back.
#include <nyala/api/base/at_least_float32.h>
#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/base/fusable.h>
#include <nyala/api/layers/base/mask.h>
#include <nyala/api/layers/normalization/batch_normalization.h>
#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/to_int.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/replica_exchange.h>
#include <nyala/backend/ops/elementwise/activation.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/exponential.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/nn/batch_normalization.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/ops/shape/repeat.h>
#include <nyala/backend/ops/shape/shape.h>
#include <nyala/backend/ops/shape/transpose.h>

namespace nyala {

using namespace nyala::detail;

void BatchNormalizationConfig::fields(FieldVisitor& v) {
  v.field("axis", axis);
  v.field("momentum", momentum);
  v.field("epsilon", epsilon);
  v.field("center", center);
  v.field("scale", scale);
  v.field("beta_initializer", beta_initializer);
  v.field("gamma_initializer", gamma_initializer);
  v.field("moving_mean_initializer", moving_mean_initializer);
  v.field("moving_variance_initializer", moving_variance_initializer);
  v.field("beta_regularizer", beta_regularizer);
  v.field("gamma_regularizer", gamma_regularizer);
  v.field("beta_constraint", beta_constraint);
  v.field("gamma_constraint", gamma_constraint);
  bool synchronized = false;  // Keras' default; without meaning for one device, so files say nothing by it
  v.field("synchronized", synchronized);
  v.beside("per_replica_statistics", per_replica_statistics);
}

namespace {

class BatchNormalizationNode final : public LayerNode, public Fusable {
 public:
  explicit BatchNormalizationNode(const BatchNormalizationConfig& config) : config_(config) {
    if (!(config.momentum >= 0 && config.momentum <= 1))
      throw InvalidArgumentError("BatchNormalization: expected momentum in [0, 1], received " +
                                 number_text(config.momentum));
    if (!(config.epsilon >= 0))
      throw InvalidArgumentError("BatchNormalization: expected epsilon >= 0, received " +
                                 number_text(config.epsilon));
    to_int(config.axis, "BatchNormalization, axis");
  }
  std::string class_name() const override { return "BatchNormalization"; }
  bool supports_masking() const override { return true; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  void build(Builder& b, const Shape& input) override {
    if (input.rank() < 2)
      throw ShapeError("expected an input of rank 2 or more, received shape " + input.to_string());
    const int64_t channels = input[axis_of(input)];
    if (channels == None)
      throw ShapeError("expected a known size along axis " + std::to_string(config_.axis) +
                       ", received shape " + input.to_string());
    const Shape shape{channels};
    if (config_.scale)
      gamma_ = b.weight("gamma", shape, config_.gamma_initializer,
                        {.regularizer = config_.gamma_regularizer,
                         .constraint = config_.gamma_constraint,
                         .autocast = false});
    if (config_.center)
      beta_ = b.weight("beta", shape, config_.beta_initializer,
                       {.regularizer = config_.beta_regularizer,
                        .constraint = config_.beta_constraint,
                        .autocast = false});
    const Aggregation aggregation =
        config_.per_replica_statistics ? Aggregation::mean : Aggregation::only_first_replica;
    moving_mean_ = b.state("moving_mean", shape, config_.moving_mean_initializer, aggregation);
    moving_variance_ = b.state("moving_variance", shape, config_.moving_variance_initializer, aggregation);
    moving_mean_.node().spec.autocast = moving_variance_.node().spec.autocast = false;
  }

  Tensor call(Call& c, const Tensor& input) const override {
    return activated_call(c, input, ops::Activation::linear);
  }
  bool uses_mask() const override { return true; }

  const Fusable* fusable() const override { return this; }
  bool takes(const FusedParts& parts) const override {
    return (parts.activation == ops::Activation::relu || parts.activation == ops::Activation::relu6) &&
           !parts.padding && !parts.sum;
  }
  Tensor call_fused(Call& c, const Tensor& input, const FusedCall& fused) const override {
    return activated_call(c, input, fused.parts.activation);
  }

  Variables map_variables(int rank) const override {
    if (config_.axis != -1 && static_cast<int>(config_.axis) != rank - 1) return {};
    Variables variables{moving_mean_, moving_variance_};
    if (gamma_) variables.push_back(gamma_);
    if (beta_) variables.push_back(beta_);
    return variables;
  }
  ChannelMap channel_map(Call& c) const override {
    const auto read = [&](const Variable& variable) { return ops::cast(c[variable], DType::float64); };
    Tensor scale = ops::rsqrt(read(moving_variance_) + config_.epsilon);
    if (gamma_) scale = scale * read(gamma_);
    const Tensor offset = read(moving_mean_) * scale * -1.0;
    return {scale, beta_ ? offset + read(beta_) : offset};
  }

 private:
  Tensor activated_call(Call& c, const Tensor& input, ops::Activation activation) const {
    const Tensor x = as_floating(input, compute_dtype());
    const int axis = axis_of(x.shape());
    const bool last = axis == x.rank() - 1;
    const auto channels_last = [&](const Tensor& t) { return last ? t : ops::moveaxis(t, axis, -1); };
    const Tensor mask = mask_of(input);
    const Tensor y =
        mask.defined() && is_training(c)
            ? activated(masked(c, channels_last(at_least_float32(x)), channels_last(along(mask, x.shape()))),
                        activation)
            : normalized(c, channels_last(x), activation);
    return ops::cast(last ? y : ops::moveaxis(y, -1, axis), compute_dtype());
  }

  int axis_of(const Shape& shape) const { return shape.normalize_axis(static_cast<int>(config_.axis)); }

  bool is_training(const Call& c) const { return c.training() && trainable(); }

  /// The mask in the shape of `x`, as Keras has it: of all axes but the last, wherever the channels are.
  static Tensor along(const Tensor& mask, const Shape& shape) {
    if (mask.rank() != shape.rank() - 1)
      throw ShapeError("expected a mask with one axis less than the input of shape " + shape.to_string() +
                       ", received shape " + mask.shape().to_string());
    return ops::broadcast_to(ops::expand_dims(ops::cast(mask, DType::bool_), -1), shape);
  }

  static Tensor activated(const Tensor& y, ops::Activation activation) {
    if (activation == ops::Activation::linear) return y;
    return activation == ops::Activation::relu ? ops::relu(y) : ops::relu6(y);
  }

  /// Keras' formula for statistics of the steps that count, with the channels as the last axis.
  Tensor masked(Call& c, const Tensor& x, const Tensor& counted) const {
    constexpr double kFew = 1e-7;  // Keras' backend.epsilon(): no step at all gives zeros
    std::vector<int> axes;
    for (int axis = 0; axis < x.rank() - 1; ++axis) axes.push_back(axis);
    const auto summed = [&](const Tensor& values) {
      const Tensor own = ops::sum(values, axes);
      return config_.per_replica_statistics ? own : ops::detail::replica_all_reduce(own, c.replica());
    };
    const Tensor zero = Tensor::zeros({}, x.dtype(), x.device());
    const Tensor count = summed(ops::cast(counted, x.dtype())) + kFew;
    const Tensor mean = summed(ops::where(counted, x, zero)) / count;
    const Tensor variance = summed(ops::square(ops::where(counted, x - mean, zero))) / count;
    update(c, moving_mean_, mean.detached(), x);
    update(c, moving_variance_, variance.detached(), x);
    const Tensor y = (x - mean) * ops::rsqrt(variance + config_.epsilon);
    const Tensor scaled = gamma_ ? y * ops::cast(c[gamma_], x.dtype()) : y;
    return beta_ ? scaled + ops::cast(c[beta_], x.dtype()) : scaled;
  }

  /// With the channels as the last axis.
  Tensor normalized(Call& c, const Tensor& x, ops::Activation activation) const {
    const Tensor gamma = gamma_ ? c[gamma_] : Tensor(), beta = beta_ ? c[beta_] : Tensor();
    ops::BatchNormalizationOptions options{.epsilon = config_.epsilon, .activation = activation};
    if (!is_training(c))
      return ops::batch_normalization_apply(x, {c[moving_mean_], c[moving_variance_], gamma, beta}, options);
    if (!config_.per_replica_statistics) options.replica = c.replica();
    options.recompute = c.options().recompute_batch_normalization;
    const auto [y, mean, variance] = ops::detail::batch_normalization_train(x, gamma, beta, options);
    update(c, moving_mean_, mean, x);
    update(c, moving_variance_, variance, x);
    return y;
  }

  void update(Call& c, const Variable& moving, const Tensor& batch, const Tensor& x) const {
    // Every replica has to queue the same writes; one without rows of its own has seen nothing.
    const bool saw_nothing = !x.is_abstract() && c.options().global_rows == 0 && x.num_elements() == 0;
    const bool own_nothing = config_.per_replica_statistics && !x.is_abstract() && x.num_elements() == 0;
    const Tensor old = c[moving];
    if (saw_nothing || own_nothing) return c.assign(moving, old);
    const Tensor next = ops::cast(old, batch.dtype()) * config_.momentum + batch * (1.0 - config_.momentum);
    c.assign(moving, next);
  }

  BatchNormalizationConfig config_;
  Variable gamma_, beta_, moving_mean_, moving_variance_;
};

}  // namespace

BatchNormalization::BatchNormalization(const Config& config)
    : Layer(node_from<BatchNormalizationNode>(config)) {}

}  // namespace nyala
