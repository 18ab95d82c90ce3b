#pragma once

#include <nyala/api/layers/rnn/recurrent_layer.h>

namespace nyala {

struct RNNConfig {
  Layer cell = {};
  bool return_sequences = false;
  bool return_state = false;
  bool go_backwards = false;
  bool stateful = false;
  bool unroll = false;
  bool zero_output_for_mask = false;
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// Any cell over the steps of (batch, time, features...): LSTMCell, GRUCell, SimpleRNNCell, StackedRNNCells,
/// or one of your own (api/layers/rnn/recurrent_cell.h). What it returns, masks and states:
/// api/layers/rnn/recurrent_layer.h.
class RNN : public RecurrentLayer {
 public:
  using Config = RNNConfig;
  /// Throws InvalidArgumentError for a layer that is no cell.
  explicit RNN(const Config& config);
  explicit RNN(Layer cell, Config config = {});
  /// Several cells, one behind the other.
  explicit RNN(std::vector<Layer> cells, Config config = {});
};

}  // namespace nyala
