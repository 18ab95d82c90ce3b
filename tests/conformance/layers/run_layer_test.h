#pragma once

#include <functional>
#include <vector>

#include <nyala/api/layers/base/layer.h>

namespace nyala {

/// One layer in one configuration on inputs of given shapes (with the batch).
struct LayerCase {
  /// Makes the layer with this dtype.
  std::function<Layer(const std::string& dtype)> make;
  Shapes inputs;
  bool training = true;
};

/// Holds a layer to what every layer promises:
/// - traced on symbolic inputs with an unknown batch, it has the shape that it has when it computes;
/// - its gradients, of inputs and weights, are the central differences of its values (float64);
/// - inside a model one training step moves each trainable weight that has a gradient, and no other;
/// - its weights written by save_weights and read by load_weights give the same predictions.
void run_layer_test(const LayerCase& layer_case);

}  // namespace nyala
