#pragma once

#include <optional>

#include <nyala/api/layers/base/layer.h>

namespace nyala::detail {

/// Gives the values of variables in `dtype` (none: as they are) as long as this object lives.
class AutocastScope {
 public:
  AutocastScope(Call& c, std::optional<DType> dtype) : call_(c), outer_(c.autocast()) {
    c.set_autocast(dtype);
  }
  ~AutocastScope() { call_.set_autocast(outer_); }
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  Call& call_;
  std::optional<DType> outer_;
};

/// Keras' autocast scope of a layer's call. A layer whose compute and variable dtypes are equal opens none of
/// its own, but ends that of the layer that calls it.
class LayerAutocast : AutocastScope {
 public:
  LayerAutocast(Call& c, const LayerNode& layer) : AutocastScope(c, dtype_of(c, layer)) {}

 private:
  static std::optional<DType> dtype_of(const Call& c, const LayerNode& layer) {
    const bool opens = c.autocast() || layer.compute_dtype() != layer.variable_dtype();
    return layer.autocast() && opens ? std::optional(layer.compute_dtype()) : std::nullopt;
  }
};

}  // namespace nyala::detail
