#pragma once

#include <nyala/api/layers/rnn/recurrent_layer.h>

namespace nyala {

struct GRUConfig {
  int64_t units = 0;
  ActivationArgument activation = "tanh";
  ActivationArgument recurrent_activation = "sigmoid";
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer recurrent_initializer = "orthogonal";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer recurrent_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint recurrent_constraint = {};
  Constraint bias_constraint = {};
  double dropout = 0.0;
  double recurrent_dropout = 0.0;
  int64_t seed = -1;  // below 0: none
  bool return_sequences = false;
  bool return_state = false;
  bool go_backwards = false;
  bool stateful = false;
  bool unroll = false;
  bool reset_after = true;
  bool zero_output_for_mask = false;
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// GRUCell over the steps of (batch, time, features). Called with x or {x, h}. What it returns, masks and
/// states: api/layers/rnn/recurrent_layer.h.
class GRU : public RecurrentLayer {
 public:
  using Config = GRUConfig;
  /// Throws InvalidArgumentError unless units > 0.
  explicit GRU(const Config& config);
  template <size_t N>
  explicit GRU(const NoSuchField (&)[N]) = delete;
  explicit GRU(int64_t units, Config config = {});
  template <size_t N>
  explicit GRU(int64_t, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
