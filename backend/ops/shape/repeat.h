#pragma once

#include <span>
#include <vector>

#include <nyala/backend/core/op.h>
#include <nyala/backend/ops/base/strided_copy.h>

namespace nyala::ops {

/// x repeated to `shape` by NumPy's rules; a size of None stands for x's own. Throws ShapeError where x does
/// not broadcast to it.
Tensor broadcast_to(const Tensor& x, const Shape& shape);
/// Each element of `axis` `repeats` times in a row: 1 2 3 -> 1 1 2 2 3 3.
Tensor repeat(const Tensor& x, int64_t repeats, int axis);
/// The whole of x repeats[i] times along axis i: 1 2 3 -> 1 2 3 1 2 3. The shorter of repeats and x's shape
/// is filled up with ones in front.
Tensor tile(const Tensor& x, const std::vector<int>& repeats);

struct BroadcastDescriptor {
  Shape shape;
};
struct RepeatDescriptor {
  int32_t axis = 0;  // not negative
  int64_t count = 1;
};
extern const OpDef kBroadcastTo, kRepeat, kTile;

namespace detail {

/// `y`, or a copy of it where it shares the bytes of an input: what an op gives has bytes of its own, but for
/// those that only name other axes (reshape and its like) and those that have nothing to do (a cast to the
/// dtype that is there).
Tensor with_bytes_apart(const Tensor& y, std::span<const Tensor> inputs);

/// What a call of one of these three moves.
StridedCopy repeat_copy(const KernelCall& call);

}  // namespace detail

}  // namespace nyala::ops
