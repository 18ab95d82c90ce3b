#pragma once

#include <nyala/api/layers/layer.h>

namespace nyala {

struct RescalingConfig {
  double scale = 1.0;
  double offset = 0.0;
  std::string name = {};
  bool trainable = true;
  std::string dtype = "float32";

  void fields(FieldVisitor& v);
};

/// scale * x + offset in the layer's floating dtype: `Rescaling(1 / 255.0)` takes uint8 images to [0, 1].
class Rescaling : public Layer {
 public:
  using Config = RescalingConfig;
  explicit Rescaling(const Config& config);
  explicit Rescaling(double scale, Config config = {});
};

}  // namespace nyala
