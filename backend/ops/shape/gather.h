#pragma once

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// The slices of `axis` that `indices` names: x.shape[:axis] + indices.shape + x.shape[axis + 1:]. Indices
/// are int32, int64 or uint8 and count from the end when negative. One outside the axis gives zeros, NaN for
/// floats, and reports to the status word (backend/runtime/status_word.h).
Tensor take(const Tensor& x, const Tensor& indices, int axis = 0);
/// result[i][j] = x[indices[i][j]][j], for axis 0 of two: shapes are equal but for `axis`. Indices as for
/// take().
Tensor take_along_axis(const Tensor& x, const Tensor& indices, int axis = -1);
/// 1 at position index of a new axis of `num_classes`, 0 elsewhere; an index outside gives zeros alone.
/// Indices with a fraction lose it. Not differentiable.
Tensor one_hot(const Tensor& indices, int64_t num_classes, int axis = -1, DType dtype = DType::float32);

struct GatherDescriptor {
  int32_t axis = 0;  // not negative
};
/// Inputs (x, indices).
extern const OpDef kTake, kTakeAlongAxis;

struct ScatterAddDescriptor {
  int32_t axis = 0;
  int64_t size = 0;  // of that axis in the result
};
/// Inputs (gradient, indices) -> zeros with each slice added at its index, in the order of the indices; bad
/// ones are left out.
extern const OpDef kTakeBackward, kTakeAlongAxisBackward;
/// kTakeBackward that adds to what the given output holds.
extern const OpDef kTakeBackwardAdd;

struct OneHotDescriptor {
  int64_t num_classes = 0;
  int32_t axis = 0;  // of the result, not negative
  DType dtype = DType::float32;
};
extern const OpDef kOneHot;

/// The sizes of a call of kTake (with x) or kTakeBackward (with the result) as [outer][size][inner] against
/// `count` indices.
struct TakeGeometry {
  int64_t outer = 1, size = 0, inner = 1, count = 0;
};

namespace detail {

TakeGeometry take_geometry(const Shape& x, const Shape& indices, int axis);

/// Calls body(position, index) for each element of an index tensor, -1 for one outside [-size, size).
template <class Body>
void for_each_index(const Tensor& indices, int64_t size, Body&& body) {
  nyala::detail::dispatch_arithmetic(indices.dtype(), "gather", [&]<class Id>(Id) {
    const Id* values = indices.raw_as<Id>();
    const int64_t count = indices.num_elements();
    for (int64_t i = 0; i < count; ++i) {
      int64_t index = static_cast<int64_t>(values[i]);
      if (index < 0) index += size;
      body(i, index < 0 || index >= size ? int64_t{-1} : index);
    }
  });
}

/// Reports the bad index at `position` of a call of kTake or kTakeAlongAxis.
void report_bad_index(const KernelCall& call, int64_t position, int64_t size);

}  // namespace detail

}  // namespace nyala::ops
