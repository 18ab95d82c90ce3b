#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/axes.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct RMSNormalizationConfig {
  NamesRequired names_required = NamesRequired();
  Axes axis = -1;
  double epsilon = 1e-6;
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// scale * x / sqrt(mean(x^2) + epsilon), with the mean over `axis` for each entry of the other axes. `scale`
/// is a weight of the shape of `axis`, ones at first. As in Keras masks are lost.
class RMSNormalization : public Layer {
 public:
  using Config = RMSNormalizationConfig;
  /// Throws InvalidArgumentError for no axis or a negative epsilon.
  explicit RMSNormalization(const Config& config = {});
  template <size_t N>
  explicit RMSNormalization(const NoSuchField (&)[N]) = delete;
  explicit RMSNormalization(int axis, Config config = {});
  template <size_t N>
  explicit RMSNormalization(int, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
