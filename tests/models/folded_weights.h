#pragma once

#include <cmath>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include <nyala/api/model/model.h>
#include <nyala/api/saving/arrays/numpy.h>

namespace nyala {

/// Gives a model the kernels and biases of an .npz ("Conv1/kernel", "Conv1/bias") into which the
/// BatchNormalization behind each convolution was folded: that layer adds the bias and does nothing else.
inline void set_folded_weights(const Model& model, const std::string& path) {
  std::map<std::string, Tensor> values;
  for (auto& [name, value] : load_npz(path)) values[name] = value;
  const std::vector<Layer> layers = model.layers();
  for (size_t i = 0; i < layers.size(); ++i) {
    const std::string& name = layers[i].name();
    const auto bias = values.find(name + "/bias");
    if (bias == values.end()) continue;
    const bool depthwise = values.contains(name + "/depthwise_kernel");
    const Tensor kernel = values.at(name + (depthwise ? "/depthwise_kernel" : "/kernel"));
    if (layers[i].class_name() == "Dense") {
      layers[i].set_weights({kernel, bias->second});
      continue;
    }
    layers[i].set_weights({kernel});
    ASSERT_EQ(layers[i + 1].class_name(), "BatchNormalization") << name;
    const Shape channels = bias->second.shape();
    layers[i + 1].set_weights({Tensor::full(channels, std::sqrt(1 + 1e-3)), bias->second,
                               Tensor::zeros(channels), Tensor::full(channels, 1.0)});
  }
}

}  // namespace nyala
