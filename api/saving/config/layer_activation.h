#pragma once

#include <nyala/api/layers/base/layer.h>

namespace nyala {

/// A layer without weights as the activation of another one, as a file may have it. Throws
/// InvalidArgumentError for one with weights when it is first called.
struct LayerActivation {
  Layer layer;
  Tensor operator()(const Tensor& x) const;
};

}  // namespace nyala
