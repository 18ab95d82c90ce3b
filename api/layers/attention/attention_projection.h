#pragma once

#include <string>

#include <nyala/api/layers/attention/attention_equations.h>
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/core/einsum_dense.h>

namespace nyala::detail {

/// A projection of an attention layer with that layer's settings.
template <class Config>
EinsumDenseConfig projection_config(const Config& layer, const ProjectionEquation& projection,
                                    const std::string& name) {
  EinsumDenseConfig config = with_fields_of<EinsumDenseConfig>(layer, name);
  config.equation = projection.equation;
  config.output_shape = projection.output_shape;
  config.activation = name == "gate" ? "sigmoid" : "linear";
  config.bias_axes = layer.use_bias ? projection.bias_axes : "";
  return config;
}

}  // namespace nyala::detail
