#pragma once

#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct TimeDistributedConfig {
  Layer layer = {};
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// One layer applied to every step of (batch, time, ...): each (batch, ...) on its own, with the same
/// weights.
class TimeDistributed : public Layer {
 public:
  using Config = TimeDistributedConfig;
  /// Throws InvalidArgumentError for an empty handle.
  explicit TimeDistributed(const Config& config);
  template <size_t N>
  explicit TimeDistributed(const NoSuchField (&)[N]) = delete;
  explicit TimeDistributed(Layer layer, Config config = {});
  template <size_t N>
  explicit TimeDistributed(Layer, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
