#pragma once

#include <string>

#include <nyala/api/layers/layer.h>

namespace nyala {

/// How errors of a layer begin: "layer 'dense_1' (Dense): ".
inline std::string place(const LayerNode& node) {
  return "layer '" + node.name() + "' (" + node.class_name() + "): ";
}

}  // namespace nyala
