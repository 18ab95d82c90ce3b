#pragma once

#include <nyala/api/layers/base/layer.h>

namespace nyala {

/// A layer without weights as the activation of another one, as a file may have it.
struct LayerActivation {
  Layer layer;
  Tensor operator()(const Tensor& x) const { return layer(x); }
};

}  // namespace nyala
