#pragma once

#include <utility>
#include <vector>

#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct PipelineConfig {
  std::vector<Layer> layers = {};
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// Layers one behind the other as one layer, which is no model: each gets what the one before gave, one
/// tensor or several, and its mask.
class Pipeline : public Layer {
 public:
  using Config = PipelineConfig;
  /// Throws InvalidArgumentError for no layers.
  explicit Pipeline(const Config& config);
  template <int = 0>  // behind the other where g++ takes {.layers = ...} for a list
  explicit Pipeline(std::vector<Layer> layers, Config config = {})
      : Pipeline((config.layers = std::move(layers), config)) {}
};

}  // namespace nyala
