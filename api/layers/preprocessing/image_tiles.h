#pragma once

#include <nyala/backend/core/tensor.h>

namespace nyala::detail {

struct TileOptions {
  int64_t rows = 8, columns = 8;  // of tiles
  double clip_limit = 4.0;        // at most 0: counts are not cut
};

/// Contrast limited adaptive histogram equalization of bytes (batch, height, width, channels) of a floating
/// dtype, as Keras computes it. Not differentiable.
Tensor equalized_by_tiles(const Tensor& bytes, const TileOptions& options);

}  // namespace nyala::detail
