#pragma once

#include <array>
#include <vector>

#include <nyala/backend/core/op.h>
#include <nyala/backend/ops/base/strided_copy.h>

namespace nyala::ops {

/// Axis i of the result is axis axes[i] of x; without axes their order is reversed. Negative axes count from
/// the end. Throws ShapeError unless each axis is named once.
Tensor transpose(const Tensor& x, const Axes& axes = {});
/// Two axes in each other's place.
Tensor swapaxes(const Tensor& x, int first, int second);
/// Axis source[i] moved to position destination[i] of the result, the others in their order.
Tensor moveaxis(const Tensor& x, const Axes& source, const Axes& destination);

struct TransposeDescriptor {
  std::array<int8_t, Shape::kMaxRank> axes{};
};
extern const OpDef kTranspose;

namespace detail {

/// What a call of kTranspose moves.
StridedCopy transpose_copy(const KernelCall& call);

}  // namespace detail

}  // namespace nyala::ops
