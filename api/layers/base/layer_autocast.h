#pragma once

#include <optional>

#include <nyala/api/layers/base/layer.h>

namespace nyala::detail {

/// Keras' autocast scope of a layer's call, as long as this object lives: the dtype in which `c` gives the
/// values of variables. A layer whose compute and variable dtypes are equal opens none of its own, but ends
/// that of the layer that calls it.
class LayerAutocast {
 public:
  LayerAutocast(Call& c, const LayerNode& layer) : call_(c), outer_(c.autocast()) {
    if (!layer.autocast())
      c.set_autocast({});
    else if (outer_ || layer.compute_dtype() != layer.variable_dtype())
      c.set_autocast(layer.compute_dtype());
  }
  ~LayerAutocast() { call_.set_autocast(outer_); }
  LayerAutocast(const LayerAutocast&) = delete;
  LayerAutocast& operator=(const LayerAutocast&) = delete;

 private:
  Call& call_;
  std::optional<DType> outer_;
};

/// Reads variables as they are, as long as this object lives.
class WithoutAutocast {
 public:
  explicit WithoutAutocast(Call& c) : call_(c), outer_(c.autocast()) { c.set_autocast({}); }
  ~WithoutAutocast() { call_.set_autocast(outer_); }
  WithoutAutocast(const WithoutAutocast&) = delete;
  WithoutAutocast& operator=(const WithoutAutocast&) = delete;

 private:
  Call& call_;
  std::optional<DType> outer_;
};

}  // namespace nyala::detail
