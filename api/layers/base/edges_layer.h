#pragma once

#include <functional>
#include <memory>

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

/// The nodes behind Cropping1D to 3D and ZeroPadding1D to 3D; `fields` shows the configuration. Throw
/// InvalidArgumentError for a negative size or another data format.
std::shared_ptr<LayerNode> make_cropping_node(const EdgesLayer& layer,
                                              std::function<void(FieldVisitor&)> fields);
std::shared_ptr<LayerNode> make_padding_node(const EdgesLayer& layer,
                                             std::function<void(FieldVisitor&)> fields);

}  // namespace detail

}  // namespace nyala
