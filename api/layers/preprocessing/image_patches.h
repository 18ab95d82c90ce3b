#pragma once

#include <nyala/backend/core/tensor.h>

/// Rectangles in images, one for each, as RandomErasing and CutMix place them.
namespace nyala::detail {

/// Where patches begin and end along one axis: (rows, 1) each, not whole.
struct PatchSide {
  Tensor begin, end;
};
/// `ratio` of `length`, anywhere inside of it: at part `place` of the room that is left.
PatchSide patch_side(const Tensor& ratio, const Tensor& place, int64_t length);

/// Whether pixels lie in the patch of their image: (rows, height, width, 1), bool.
Tensor in_patches(const PatchSide& columns, const PatchSide& rows, int64_t height, int64_t width);

}  // namespace nyala::detail
