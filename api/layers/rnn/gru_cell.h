#pragma once

#include <nyala/api/layers/rnn/recurrent_cell.h>

namespace nyala {

struct GRUCellConfig {
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
  Constraint kernel_constraint = {};
  Constraint recurrent_constraint = {};
  Constraint bias_constraint = {};
  double dropout = 0.0;
  double recurrent_dropout = 0.0;
  bool reset_after = true;
  int64_t seed = -1;  // below 0: none
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// Cho et al. 2014, with Keras' formulas. Gates z, r, g are the columns of x . kernel + bias, in this order;
/// with s = recurrent_activation, a = activation and U = recurrent_kernel:
///   z = s(x_z + h U_z), r = s(x_r + h U_r), n = a(x_g + r (h U_g)), h' = z h + (1 - z) n.
/// With reset_after bias is (2, 3 units): row 1 is added to h U. Without it is (3 units), and n is
/// a(x_g + (r h) U_g). State h; kernel (features, 3 units), recurrent_kernel (units, 3 units).
class GRUCell : public Layer {
 public:
  using Config = GRUCellConfig;
  /// Throws InvalidArgumentError unless units > 0.
  explicit GRUCell(const Config& config);
  template <size_t N>
  explicit GRUCell(const NoSuchField (&)[N]) = delete;
  explicit GRUCell(int64_t units, Config config = {});
  template <size_t N>
  explicit GRUCell(int64_t, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
