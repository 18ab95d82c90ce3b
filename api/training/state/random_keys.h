#pragma once

#include <cstdint>
#include <vector>

#include <nyala/api/layers/base/layer.h>

namespace nyala {

/// Keys of the random draws of every layer, in the order of the sublayers; a shared layer's once.
std::vector<uint64_t*> random_keys(LayerNode& node);

}  // namespace nyala
