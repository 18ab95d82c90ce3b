#pragma once

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// How a random number or two become the transform (see affine_transform.h) of an image of `height` x
/// `width`, as Keras' layers make them.
enum class ImageMotion : uint8_t {
  flip_horizontal,  // (u): mirrored where u <= 0.5
  flip_vertical,
  flip_both,    // both ways by the same u
  rotation,     // (degrees), counter-clockwise about the middle
  zoom,         // (height, width): 0.5 shows half of the height and width, from the middle; (z): both
  translation,  // (height, width): parts of the height by which things go down, of the width to the right
  crop          // (u, v): the first row is u * (height - target_height + 1), cut; the first column likewise
};

struct ImageTransformsDescriptor {
  ImageMotion motion = ImageMotion::flip_horizontal;
  int64_t height = 1, width = 1;
  int64_t target_height = 1, target_width = 1;  // of a crop
};

/// Numbers (rows, 1 or 2) of float32 -> transforms (rows, 8) of float32; not differentiable. Computed in
/// float32. Throws ShapeError for other numbers.
Tensor image_transforms(const Tensor& numbers, const ImageTransformsDescriptor& descriptor);

/// Input (numbers).
extern const OpDef kImageTransforms;

}  // namespace nyala::ops
