#pragma once

#include <functional>
#include <memory>

#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

/// What tells SpatialDropout1D to 3D apart.
struct SpatialDropoutKind {
  const char* class_name;
  int spatial_axes;
  double rate;
  std::string data_format;
  int64_t seed;
};

namespace detail {

/// Their node: in training whole channels become 0 at chance `rate`. Throws InvalidArgumentError for a rate
/// outside [0, 1] or another data format.
std::shared_ptr<LayerNode> make_spatial_dropout_node(const SpatialDropoutKind& kind,
                                                     std::function<void(FieldVisitor&)> fields);

}  // namespace detail

}  // namespace nyala
