#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <nyala/api/layers/base/channels_first.h>
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/base/edge_sizes.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

/// A layer that works on both sides of the axes between batch and channels.
struct EdgesLayer {
  const char* class_name;
  std::vector<EdgePair> edges;
  std::string data_format;  // "", "channels_last" or "channels_first"
};

namespace detail {

/// The base of the nodes of Cropping1D to 3D and ZeroPadding1D to 3D; `fields` shows the configuration.
/// Throws InvalidArgumentError for a negative size or another data format.
class EdgesNode : public LayerNode {
 public:
  EdgesNode(const EdgesLayer& layer, std::function<void(FieldVisitor&)> fields);
  std::string class_name() const final { return layer_.class_name; }
  void fields(FieldVisitor& v) override { fields_(v); }

  void build(Builder&, const Shape& input) override { check_shape(input); }

 protected:
  virtual void check_shape(const Shape& input) const;

  EdgesLayer layer_;

 private:
  std::function<void(FieldVisitor&)> fields_;
};

/// A finished node of `Node`, or of it with channels first where the layer says so.
template <class Node, class Config>
std::shared_ptr<LayerNode> make_edges_layer(const EdgesLayer& layer, const Config& config) {
  std::shared_ptr<LayerNode> node;
  if (layer.data_format == "channels_first")
    node = std::make_shared<ChannelsFirst<Node>>(layer, fields_of(config));
  else
    node = std::make_shared<Node>(layer, fields_of(config));
  return finish_layer(std::move(node), options_of(config));
}

}  // namespace detail

}  // namespace nyala
