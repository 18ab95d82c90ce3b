#pragma once

#include <memory>
#include <utility>

#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/base/layer.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/shape/transpose.h>

namespace nyala {

/// The layer `Node` for images whose channels come first, (batch, channels, height, width): `Node` itself
/// sees them last. Outputs that still have all axes get their channels first again.
template <class Node>
class ChannelsFirst final : public Node {
 public:
  using Node::Node;

  void build(Builder& builder, const Shape& input) override {
    if (input.rank() < 3)
      throw ShapeError("expected an input with channels on axis 1 and at least one axis behind, received " +
                       input.to_string());
    Shape last;
    for (int axis = 0; axis < input.rank(); ++axis)
      if (axis != 1) last.append(input[axis]);
    last.append(input[1]);
    Node::build(builder, last);
  }

  Tensor call(Call& c, const Tensor& x) const override { return first(x, Node::call(c, last(x))); }
  const Fusable* fusable() const override { return nullptr; }

 private:
  static Tensor last(const Tensor& x) { return ops::moveaxis(x, 1, -1); }
  static Tensor first(const Tensor& x, const Tensor& y) {
    return y.rank() == x.rank() ? ops::moveaxis(y, -1, 1) : y;
  }
};

namespace detail {

/// A finished node of `Node`, or of it with channels first where the configuration says so.
template <class Node, class Config>
std::shared_ptr<LayerNode> make_image_layer(const Config& config) {
  std::shared_ptr<LayerNode> node;
  if (config.data_format == "channels_first")
    node = std::make_shared<ChannelsFirst<Node>>(config);
  else
    node = std::make_shared<Node>(config);
  return finish_layer(std::move(node), options_of(config));
}

}  // namespace detail

}  // namespace nyala
