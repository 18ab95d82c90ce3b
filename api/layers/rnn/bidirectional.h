#pragma once

#include <nyala/api/layers/rnn/recurrent_layer.h>

namespace nyala {

struct BidirectionalConfig {
  Layer layer = {};
  std::string merge_mode = "concat";  // "sum", "mul", "ave", "concat"; empty (Keras' None): two outputs
  Layer backward_layer = {};
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// A recurrent layer forwards and a second one backwards over the same sequence, whose outputs are merged.
/// Both are made afresh from `layer`'s configuration, as "forward_<name>" and "backward_<name>", but a given
/// `backward_layer` is used as it is. Called with x or {x, states of the first, states of the second}. Where
/// sequences are returned, masked steps give zeros, and the second one's are turned round.
class Bidirectional : public Layer {
 public:
  using Config = BidirectionalConfig;
  /// Throws InvalidArgumentError for a layer that is not recurrent, an unknown merge_mode, or two layers
  /// whose directions agree or whose other settings differ.
  explicit Bidirectional(const Config& config);
  template <size_t N>
  explicit Bidirectional(const NoSuchField (&)[N]) = delete;
  explicit Bidirectional(Layer layer, Config config = {});
  template <size_t N>
  explicit Bidirectional(Layer, const NoSuchField (&)[N]) = delete;
  /// Zeros as states of stateful layers.
  void reset_state() const;
};

}  // namespace nyala
