#pragma once

#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct InputConfig {
  Shape shape = {};  // without the batch
  int64_t batch_size = kNone;
  std::string dtype = "float32";
  std::string name = {};
};

/// Where data enters a model: the first entry of a Sequential, or a symbolic tensor for the functional API
/// (`auto x = Input({28, 28, 1}); auto y = Dense(10)(x);`).
class Input : public Layer {
 public:
  using Config = InputConfig;
  explicit Input(const Config& config);
  template <int = 0>  // behind the other where g++ takes {.shape = ...} for a list
  explicit Input(const Shape& shape, Config config = {}) : Input((config.shape = shape, config)) {}

  /// The symbolic tensor (batch, shape...): the same one every time.
  Tensor tensor() const;
  operator Tensor() const { return tensor(); }
};

namespace detail {

/// The configuration of an Input layer; throws StateError for any other layer.
const InputConfig& input_config(const LayerNode& node);
/// Whether the node is an Input's.
bool is_input_layer(const LayerNode& node);
/// The symbolic tensor of an Input's node.
Tensor input_tensor(LayerNode& node);

}  // namespace detail

}  // namespace nyala
