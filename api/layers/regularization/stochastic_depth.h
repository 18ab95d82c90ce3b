#pragma once

#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct StochasticDepthConfig {
  double drop_path_rate = 0.0;
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// In training each row becomes 0 at chance `drop_path_rate`, and the others are divided by 1 - rate (Huang
/// et al. 2016): a layer that Keras' ConvNeXt models and their files hold.
class StochasticDepth : public Layer {
 public:
  using Config = StochasticDepthConfig;
  /// Throws InvalidArgumentError for a rate outside [0, 1].
  explicit StochasticDepth(const Config& config);
  template <size_t N>
  explicit StochasticDepth(const NoSuchField (&)[N]) = delete;
  explicit StochasticDepth(double drop_path_rate, Config config = {});
  template <size_t N>
  explicit StochasticDepth(double, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
