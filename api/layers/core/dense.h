#pragma once

#include <nyala/api/activations/activation_argument.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct DenseConfig {
  int64_t units = 0;
  ActivationArgument activation = {};
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint bias_constraint = {};
  int64_t lora_rank = 0;         // above 0: adapted when it is built, see Layer::enable_lora
  double lora_alpha = kNoValue;  // none: lora_rank
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// activation(x · kernel + bias) over the last axis. Input (..., n), output (..., units); kernel (n, units).
class Dense : public Layer {
 public:
  using Config = DenseConfig;
  /// Throws InvalidArgumentError unless units > 0.
  explicit Dense(const Config& config);
  template <size_t N>
  explicit Dense(const NoSuchField (&)[N]) = delete;
  explicit Dense(int64_t units, Config config = {});
  template <size_t N>
  explicit Dense(int64_t, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
