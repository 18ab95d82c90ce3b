#pragma once

#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct MaskingConfig {
  double mask_value = 0.0;
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// Masks the steps of (batch, time, features) whose features all equal `mask_value`: they become 0, and the
/// output's mask is false there.
class Masking : public Layer {
 public:
  using Config = MaskingConfig;
  explicit Masking(const Config& config = {});
  template <size_t N>
  explicit Masking(const NoSuchField (&)[N]) = delete;
  explicit Masking(double mask_value, Config config = {});
  template <size_t N>
  explicit Masking(double, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
