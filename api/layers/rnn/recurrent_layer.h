#pragma once

#include <nyala/api/layers/base/layer.h>
#include <nyala/api/layers/rnn/recurrent_cell.h>

namespace nyala {

/// What recurrent layers have besides their cell; Keras' names and meanings. `unroll` is accepted, nothing
/// depends on it.
struct RecurrentSettings {
  bool return_sequences = false;
  bool return_state = false;
  bool go_backwards = false;  // the result is in the order of processing
  bool stateful = false;
  bool unroll = false;
  bool zero_output_for_mask = false;
  Regularizer activity_regularizer = {};

  void fields(FieldVisitor& v);
};

namespace detail {

/// The first of RecurrentSettings in any class that has them, in Keras' order.
template <class Config>
void visit_returned(FieldVisitor& v, Config& c) {
  v.field("return_sequences", c.return_sequences);
  v.field("return_state", c.return_state);
  v.field("go_backwards", c.go_backwards);
  v.field("stateful", c.stateful);
  v.field("unroll", c.unroll);
}

/// The settings in a layer's Config.
template <class Config>
RecurrentSettings settings_of(const Config& config) {
  RecurrentSettings settings;
  copy_fields(settings, config);
  return settings;
}

/// The Config of `layer` with another name and other settings, for RecurrentNode::clone.
template <class Config>
Config with_settings(Config config, const LayerNode& layer, const std::string& name,
                     const RecurrentSettings& settings) {
  copy_fields(config, settings);
  config.name = name;
  config.trainable = layer.trainable();
  config.dtype = layer.dtype_policy().name();
  return config;
}

}  // namespace detail

/// A recurrent layer: runs a cell over axis 1 of (batch, time, features). Called with {x} or {x, states...};
/// returns the last output (batch, size), or with return_sequences (batch, time, size), and with return_state
/// the last states behind it. At a masked step states stay, and the output is that of the step before (zeros
/// before the first, or everywhere with zero_output_for_mask). A stateful layer begins a batch with the
/// states of the one before, row by row of the global batch, whose size must be known when it is built.
class RecurrentNode : public LayerNode {
 public:
  RecurrentNode(Layer cell, const RecurrentSettings& settings);

  const RecurrentSettings& settings() const { return settings_; }
  const RecurrentCellNode& cell() const { return *cell_node_; }
  /// A layer of the same configuration with other settings and weights of its own, for Bidirectional.
  virtual Layer clone(const std::string& name, const RecurrentSettings& settings) const = 0;
  /// Zeros as states of a stateful layer.
  void reset_state() const;
  /// For Bidirectional, which decides this for both of its layers.
  void set_zero_output_for_mask(bool zero) { settings_.zero_output_for_mask = zero; }

  bool takes_many() const override { return true; }
  bool supports_masking() const override { return true; }
  bool uses_mask() const override { return true; }
  Tensors compute_mask(Inputs inputs, size_t num_outputs) const override;
  void build(Builder& b, const Shapes& inputs) override;
  Outputs call(Call& c, Inputs inputs) const override;

 private:
  Outputs run_abstract(Call& c, const CellSequence& sequence) const;
  Outputs run_steps(Call& c, const CellSequence& sequence) const;
  Tensors first_states(Call& c, Inputs inputs) const;
  void keep_states(Call& c, const Tensors& states) const;

  RecurrentSettings settings_;
  Layer cell_;
  const RecurrentCellNode* cell_node_;
  Variables kept_;  // states of a stateful layer
};

/// A handle on a recurrent layer.
class RecurrentLayer : public Layer {
 public:
  using Layer::Layer;
  /// Zeros as states of a stateful layer.
  void reset_state() const;
};

namespace detail {

/// The mask of the sequence that a recurrent layer called with these inputs uses, or an undefined tensor.
Tensor mask_in_use(Inputs inputs);
/// Whether `layer` is called with {x, states...}: a recurrent layer or a Bidirectional one.
bool takes_initial_states(const Layer& layer);

/// The recurrent layer that `layer` is, or null.
const RecurrentNode* recurrent_node(const Layer& layer);

}  // namespace detail

}  // namespace nyala
