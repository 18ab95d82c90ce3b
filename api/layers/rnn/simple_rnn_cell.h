#pragma once

#include <nyala/api/layers/rnn/recurrent_cell.h>

namespace nyala {

struct SimpleRNNCellConfig {
  int64_t units = 0;
  ActivationArgument activation = "tanh";
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer recurrent_initializer = "orthogonal";
  Initializer bias_initializer = "zeros";
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

/// h' = activation(x . kernel + bias + h . recurrent_kernel). State h; kernel (features, units),
/// recurrent_kernel (units, units), bias (units).
class SimpleRNNCell : public Layer {
 public:
  using Config = SimpleRNNCellConfig;
  /// Throws InvalidArgumentError unless units > 0.
  explicit SimpleRNNCell(const Config& config);
  template <size_t N>
  explicit SimpleRNNCell(const NoSuchField (&)[N]) = delete;
  explicit SimpleRNNCell(int64_t units, Config config = {});
  template <size_t N>
  explicit SimpleRNNCell(int64_t, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
