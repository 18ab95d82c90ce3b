#pragma once

#include <nyala/api/base/fields.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct ReLUConfig {
  double max_value = kNoValue;
  double negative_slope = 0.0;
  double threshold = 0.0;
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// min(x, max_value) where x > threshold, else negative_slope * (x - threshold).
class ReLU : public Layer {
 public:
  using Config = ReLUConfig;
  /// Throws InvalidArgumentError for a negative value.
  explicit ReLU(const Config& config = {});
  template <size_t N>
  explicit ReLU(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
