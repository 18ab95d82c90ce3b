#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/axes.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct UnitNormalizationConfig {
  NamesRequired names_required = NamesRequired();
  Axes axis = -1;
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// x divided by its Euclidean norm over `axis`; where the norm is below 1e-12, by 1e-12.
class UnitNormalization : public Layer {
 public:
  using Config = UnitNormalizationConfig;
  /// Throws InvalidArgumentError for no axis.
  explicit UnitNormalization(const Config& config = {});
  template <size_t N>
  explicit UnitNormalization(const NoSuchField (&)[N]) = delete;
  explicit UnitNormalization(int axis, Config config = {});
  template <size_t N>
  explicit UnitNormalization(int, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
