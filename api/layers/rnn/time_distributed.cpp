// Where the layer inside looks at rows alone, batch and time become one axis and it runs once; where it draws
// numbers, keeps state or gets a mask of each step, they run one after the other, as Keras runs them.
#include <algorithm>

#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/base/mask.h>
#include <nyala/api/layers/base/time_steps.h>
#include <nyala/api/layers/rnn/time_distributed.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/shape/concatenate.h>
#include <nyala/backend/ops/shape/shape.h>

namespace nyala {

using namespace nyala::detail;

void TimeDistributedConfig::fields(FieldVisitor& v) { v.field("layer", layer); }

namespace {

/// Nothing in the layer draws numbers, keeps statistics or asks for rows of the batch, so that steps may
/// become rows.
bool only_computes(LayerNode& node) {
  if (!node.own_state().empty() || node.random_key()) return false;
  for (const auto& [attribute, layer] : node.sublayers())
    if (!only_computes(layer.node())) return false;
  return true;
}

/// Its call reads mask_of(), or that of a layer inside does.
bool looks_at_masks(const LayerNode& node) {
  return node.uses_mask() || std::ranges::any_of(node.sublayers(), [](const auto& sublayer) {
           return looks_at_masks(sublayer.second.node());
         });
}

/// Axes from `first` on.
Shape tail(const Shape& shape, int first) { return shape.slice(first, shape.rank()); }

Shape joined(const Shape& front, const Shape& back) {
  Shape out = front;
  for (const int64_t size : back) out.append(size);
  return out;
}

class TimeDistributedNode final : public LayerNode {
 public:
  explicit TimeDistributedNode(const TimeDistributedConfig& config) : config_(config) {
    if (!config.layer)
      throw InvalidArgumentError("TimeDistributed: expected a layer, received an empty handle");
    track("layer", config.layer);
  }
  std::string class_name() const override { return "TimeDistributed"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }
  bool supports_masking() const override { return true; }
  bool uses_mask() const override { return true; }

  void build(Builder& b, const Shape& input) override {
    if (input.rank() < 3)
      throw ShapeError("expected an input (batch, time, ...) of 3 or more axes, received " +
                       input.to_string());
    b.build(config_.layer, input.without(1));
    only_computes_ = only_computes(config_.layer.node());
  }

  Tensor call(Call& c, const Tensor& x) const override {
    const Tensor plain = with_mask(x, Tensor());
    if (x.is_abstract()) return traced(c, plain);
    const Tensor mask = mask_of(x);
    const bool masks_steps = mask.defined() && mask.rank() > 2 && looks_at_masks(config_.layer.node());
    if (only_computes_ && !masks_steps && x.num_elements() > 0) return at_once(c, plain);
    return step_by_step(c, plain, mask);
  }

 private:
  Tensor traced(Call& c, const Tensor& x) const {
    const Tensor step = config_.layer(c, Tensor::abstract(x.shape().without(1), x.dtype(), x.device()));
    const Shape front{x.shape()[0], x.shape()[1]};
    return Tensor::abstract(joined(front, tail(step.shape(), 1)), step.dtype(), x.device());
  }

  Tensor at_once(Call& c, const Tensor& x) const {
    const Shape front{x.shape()[0], x.shape()[1]};
    const Tensor rows = ops::reshape(x, joined({front[0] * front[1]}, tail(x.shape(), 2)));
    const Tensor y = config_.layer(c, rows);
    return ops::reshape(y, joined(front, tail(y.shape(), 1)));
  }

  Tensor step_by_step(Call& c, const Tensor& x, const Tensor& mask) const {
    Tensors steps = time_steps(x);
    const Tensors masks = mask.defined() && mask.rank() > 2 ? time_steps(mask) : Tensors();
    for (size_t t = 0; t < steps.size(); ++t)
      steps[t] = config_.layer(c, masks.empty() ? steps[t] : with_mask(steps[t], masks[t]));
    if (!steps.empty()) return ops::stack(steps, 1);
    const Tensor step = traced(c, x.as_abstract());
    return Tensor::zeros(step.shape(), step.dtype(), x.device());
  }

  TimeDistributedConfig config_;
  bool only_computes_ = false;
};

}  // namespace

TimeDistributed::TimeDistributed(const Config& config) : Layer(node_from<TimeDistributedNode>(config)) {}

TimeDistributed::TimeDistributed(Layer layer, Config config)
    : TimeDistributed(with(std::move(config), &Config::layer, std::move(layer))) {}

}  // namespace nyala
