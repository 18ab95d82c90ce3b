#pragma once

#include <string>

#include <nyala/api/layers/attention_equations.h>
#include <nyala/api/layers/einsum_dense.h>

namespace nyala::detail {

/// A projection of an attention layer with that layer's settings.
template <class Config>
EinsumDenseConfig projection_config(const Config& layer, const ProjectionEquation& projection,
                                    const std::string& name) {
  return {.equation = projection.equation,
          .output_shape = projection.output_shape,
          .activation = name == "gate" ? "sigmoid" : "linear",
          .bias_axes = layer.use_bias ? projection.bias_axes : "",
          .kernel_initializer = layer.kernel_initializer,
          .bias_initializer = layer.bias_initializer,
          .kernel_regularizer = layer.kernel_regularizer,
          .bias_regularizer = layer.bias_regularizer,
          .activity_regularizer = layer.activity_regularizer,
          .kernel_constraint = layer.kernel_constraint,
          .bias_constraint = layer.bias_constraint,
          .name = name,
          .trainable = layer.trainable,
          .dtype = layer.dtype};
}

}  // namespace nyala::detail
