#pragma once

#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct CustomScaleLayerConfig {
  double scale = 1.0;
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// a + scale * b of two inputs of one shape, `CustomScaleLayer(0.17)({a, b})`: a layer that Keras'
/// InceptionResNetV2 and its files hold.
class CustomScaleLayer : public Layer {
 public:
  using Config = CustomScaleLayerConfig;
  explicit CustomScaleLayer(const Config& config);
  template <size_t N>
  explicit CustomScaleLayer(const NoSuchField (&)[N]) = delete;
  explicit CustomScaleLayer(double scale, Config config = {});
  template <size_t N>
  explicit CustomScaleLayer(double, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
