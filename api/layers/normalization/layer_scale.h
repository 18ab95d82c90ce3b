#pragma once

#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct LayerScaleConfig {
  double init_values = 1e-6;
  int64_t projection_dim = 0;
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// Each channel times a weight that begins as `init_values` (Touvron et al. 2021): a layer that Keras'
/// ConvNeXt models and their files hold. Input (..., projection_dim).
class LayerScale : public Layer {
 public:
  using Config = LayerScaleConfig;
  /// Throws InvalidArgumentError unless projection_dim is above 0.
  explicit LayerScale(const Config& config);
  template <size_t N>
  explicit LayerScale(const NoSuchField (&)[N]) = delete;
  LayerScale(double init_values, int64_t projection_dim, Config config = {});
  template <size_t N>
  LayerScale(double, int64_t, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
