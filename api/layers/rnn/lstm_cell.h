#pragma once

#include <nyala/api/layers/rnn/recurrent_cell.h>

namespace nyala {

struct LSTMCellConfig {
  int64_t units = 0;
  ActivationArgument activation = "tanh";
  ActivationArgument recurrent_activation = "sigmoid";
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer recurrent_initializer = "orthogonal";
  Initializer bias_initializer = "zeros";
  bool unit_forget_bias = true;
  Regularizer kernel_regularizer = {};
  Regularizer recurrent_regularizer = {};
  Regularizer bias_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint recurrent_constraint = {};
  Constraint bias_constraint = {};
  double dropout = 0.0;
  double recurrent_dropout = 0.0;
  int64_t seed = -1;  // below 0: none
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// Hochreiter and Schmidhuber 1997, with Keras' formulas. Gates i, f, g, o are the columns of
/// x . kernel + h . recurrent_kernel + bias, in this order; with s = recurrent_activation, a = activation:
///   c' = s(f) c + s(i) a(g),  h' = s(o) a(c').
/// States h, c; kernel (features, 4 units), recurrent_kernel (units, 4 units), bias (4 units), whose part f
/// is 1 at first with unit_forget_bias.
class LSTMCell : public Layer {
 public:
  using Config = LSTMCellConfig;
  /// Throws InvalidArgumentError unless units > 0.
  explicit LSTMCell(const Config& config);
  template <size_t N>
  explicit LSTMCell(const NoSuchField (&)[N]) = delete;
  explicit LSTMCell(int64_t units, Config config = {});
  template <size_t N>
  explicit LSTMCell(int64_t, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
