#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/normalization/group_normalization.h>

#include <nyala/api/layers/base/arguments.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/to_int.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/nn/layer_normalization.h>
#include <nyala/backend/ops/shape/shape.h>
#include <nyala/backend/ops/shape/transpose.h>

namespace nyala {

using namespace nyala::detail;

void GroupNormalizationConfig::fields(FieldVisitor& v) {
  v.field("groups", groups);
  v.field("axis", axis);
  v.field("epsilon", epsilon);
  v.field("center", center);
  v.field("scale", scale);
  v.field("beta_initializer", beta_initializer);
  v.field("gamma_initializer", gamma_initializer);
  v.field("beta_regularizer", beta_regularizer);
  v.field("gamma_regularizer", gamma_regularizer);
  v.field("beta_constraint", beta_constraint);
  v.field("gamma_constraint", gamma_constraint);
}

namespace {

class GroupNormalizationNode final : public LayerNode {
 public:
  explicit GroupNormalizationNode(const GroupNormalizationConfig& config) : config_(config) {
    if (config.groups < 1 && config.groups != -1)
      throw InvalidArgumentError(
          "GroupNormalization: expected groups above 0, or -1 for one per channel, "
          "received " +
          std::to_string(config.groups));
    check_not_negative("GroupNormalization", "epsilon", config.epsilon);
    to_int(config.axis, "GroupNormalization, axis");
  }
  std::string class_name() const override { return "GroupNormalization"; }
  bool supports_masking() const override { return true; }
  void fields(FieldVisitor& v) override { config_.fields(v); }
  bool autocast() const override { return false; }

  void build(Builder& b, const Shape& input) override {
    const int axis = axis_of(input);
    if (axis < 1 || input[axis] == None)
      throw ShapeError("expected channels of a known number behind the batch, received axis " +
                       std::to_string(config_.axis) + " of shape " + input.to_string());
    const int64_t channels = input[axis], groups = groups_of(channels);
    if (channels % groups != 0)
      throw ShapeError("expected a number of channels that " + std::to_string(groups) +
                       " groups divide, received " + std::to_string(channels) + " in shape " +
                       input.to_string());
    if (config_.scale)
      gamma_ = b.weight("gamma", {channels}, config_.gamma_initializer,
                        {config_.gamma_regularizer, config_.gamma_constraint});
    if (config_.center)
      beta_ = b.weight("beta", {channels}, config_.beta_initializer,
                       {config_.beta_regularizer, config_.beta_constraint});
  }

  Tensor call(Call& c, const Tensor& input) const override {
    if (input.is_abstract()) return Tensor::abstract(input.shape(), compute_dtype(), input.device());
    const Tensor x = wide(input, compute_dtype());
    Tensor y = normalized(x);
    Shape along = Shape{};
    for (int axis = 0; axis < x.rank(); ++axis)
      along.append(axis == axis_of(x.shape()) ? x.shape()[axis] : 1);
    if (gamma_) y = y * ops::reshape(ops::cast(c[gamma_], x.dtype()), along);
    if (beta_) y = y + ops::reshape(ops::cast(c[beta_], x.dtype()), along);
    return ops::cast(y, compute_dtype());
  }

 private:
  int axis_of(const Shape& shape) const { return shape.normalize_axis(static_cast<int>(config_.axis)); }
  int64_t groups_of(int64_t channels) const { return config_.groups == -1 ? channels : config_.groups; }

  Tensor normalized(const Tensor& x) const {
    const int axis = axis_of(x.shape());
    const int64_t groups = groups_of(x.shape()[axis]);
    // The values of a group lie side by side behind the batch.
    const bool moves = axis != 1 && groups != 1;
    const Tensor channels_first = moves ? ops::moveaxis(x, axis, 1) : x;
    const Shape& shape = channels_first.shape();
    const int64_t each = shape.slice(1, shape.rank()).num_elements() / groups;
    const Tensor grouped = ops::reshape(channels_first, {shape[0], groups, each});
    const Tensor y = ops::layer_normalization(grouped, {}, {}, {.epsilon = config_.epsilon});
    const Tensor back = ops::reshape(y, shape);
    return moves ? ops::moveaxis(back, 1, axis) : back;
  }

  GroupNormalizationConfig config_;
  Variable gamma_, beta_;
};

}  // namespace

GroupNormalization::GroupNormalization(const Config& config)
    : Layer(node_from<GroupNormalizationNode>(config)) {}

GroupNormalization::GroupNormalization(int64_t groups, Config config)
    : GroupNormalization(with(std::move(config), &Config::groups, groups)) {}

}  // namespace nyala
