#pragma once

#include <vector>

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// These share x's bytes under another shape: nothing is copied, and the gradient takes the same way back.

/// x as `shape`, of which one size may be -1 (None): what is left. Where x has an unknown size, that one
/// becomes None. Throws ShapeError where the numbers of elements differ.
Tensor reshape(const Tensor& x, const Shape& shape);
/// Merges the axes from `first_axis` on into one, which is added where there are none: (2, 3, 4) -> (2, 12).
Tensor flatten(const Tensor& x, int first_axis = 1);
/// All elements as one axis.
Tensor ravel(const Tensor& x);
/// A new axis of size 1 at position `axis` of the result; negative positions count from its end.
Tensor expand_dims(const Tensor& x, int axis);
/// Several positions, all of them in the result. Throws ShapeError for one that it lacks or that is named
/// twice.
Tensor expand_dims(const Tensor& x, const Axes& axes);
/// Without the given axes, each of size 1; without any given: without all of size 1. Throws ShapeError for
/// another size.
Tensor squeeze(const Tensor& x, const Axes& axes = {});

struct ReshapeDescriptor {
  Shape shape;
};
struct FlattenDescriptor {
  int32_t first_axis = 1;
};
struct ExpandDimsDescriptor {
  int32_t axis = 0;
};
/// Bit i is set where axis i goes; 0: all of size 1.
struct SqueezeDescriptor {
  uint32_t axes = 0;
};
/// Their loops copy: they run where a caller dispatches these ops itself instead of calling the functions
/// above.
extern const OpDef kReshape, kFlatten, kExpandDims, kSqueeze;

/// x with another shape of as many elements; recorded where x is tracked. For gradient functions.
Tensor viewed(const Tensor& x, const Shape& shape);

}  // namespace nyala::ops
