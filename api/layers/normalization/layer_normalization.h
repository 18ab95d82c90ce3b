#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/axes.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct LayerNormalizationConfig {
  NamesRequired names_required = NamesRequired();
  Axes axis = -1;
  double epsilon = 1e-3;
  bool center = true;
  bool scale = true;
  bool rms_scaling = false;  // out of date in Keras: gamma * x / sqrt(variance + epsilon), without beta
  Initializer beta_initializer = "zeros";
  Initializer gamma_initializer = "ones";
  Regularizer beta_regularizer = {};
  Regularizer gamma_regularizer = {};
  Constraint beta_constraint = {};
  Constraint gamma_constraint = {};
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// gamma * (x - mean) / sqrt(variance + epsilon) + beta, with mean and variance over `axis` for each entry of
/// the other axes (Ba et al. 2016). gamma and beta have the shape of `axis`.
class LayerNormalization : public Layer {
 public:
  using Config = LayerNormalizationConfig;
  /// Throws InvalidArgumentError for no axis or a negative epsilon.
  explicit LayerNormalization(const Config& config = {});
  template <size_t N>
  explicit LayerNormalization(const NoSuchField (&)[N]) = delete;
  explicit LayerNormalization(int axis, Config config = {});
  template <size_t N>
  explicit LayerNormalization(int, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
