#pragma once

#include <nyala/api/activations/activation_argument.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct EinsumDenseConfig {
  std::string equation = {};
  std::vector<int64_t> output_shape = {};  // without the batch and the axes of "..."; None: that of the input
  ActivationArgument activation = {};
  std::string bias_axes = {};  // empty: no bias
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

/// activation(einsum(equation, x, kernel) + bias), ops/einsum.h. The equation is "ab,bc->ac", "...b,bc->...c"
/// or "ab...,bc->ac..."; the kernel's sizes follow from it, from the input's shape and from output_shape.
/// The bias has the axes of the result from the first in bias_axes on, with size 1 where an axis is not
/// there.
class EinsumDense : public Layer {
 public:
  using Config = EinsumDenseConfig;
  /// Throws InvalidArgumentError for an equation of another form, or without an output shape.
  explicit EinsumDense(const Config& config);
  template <size_t N>
  explicit EinsumDense(const NoSuchField (&)[N]) = delete;
  EinsumDense(std::string equation, std::vector<int64_t> output_shape, Config config = {});
  template <size_t N>
  EinsumDense(std::string, std::vector<int64_t>, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
