#pragma once

#include <array>
#include <vector>

#include <nyala/backend/core/op.h>
#include <nyala/backend/ops/base/strided_copy.h>

namespace nyala::ops {

/// Stands for a bound that is left out.
inline constexpr int64_t kToEnd = Index::kOpen;

/// Python's start:stop:step of one axis: negative bounds count from the end, bounds outside are cut to the
/// axis, a negative step walks back. Step 0 is strict: start:stop with step 1, and bounds that the axis lacks
/// are an error.
struct AxisRange {
  int64_t start = kToEnd;
  int64_t stop = kToEnd;
  int32_t step = 1;
};

/// A range on an axis of known size: its first element, how many, and how far apart.
struct ResolvedRange {
  int64_t first = 0, count = 0, step = 1;
};

namespace detail {

ResolvedRange resolve(const AxisRange& range, int64_t size);

}  // namespace detail

/// x[range, range, ...]; axes without a range are taken whole. An axis of unknown size stays unknown unless
/// its range is strict. Throws ShapeError for more ranges than axes, or a strict range that does not fit.
Tensor strided_slice(const Tensor& x, const std::vector<AxisRange>& ranges);
/// The block of `shape` that begins at `start`; a size of -1 reaches to the end. Throws ShapeError where it
/// does not lie inside x.
Tensor slice(const Tensor& x, const std::vector<int64_t>& start, const std::vector<int64_t>& shape);
/// Elements [start, stop) of one axis; Python's rules.
Tensor slice_axis(const Tensor& x, int axis, AxisRange range);
/// `sections` equal parts along `axis`. Throws ShapeError where they do not divide it.
Tensors split(const Tensor& x, int sections, int axis = 0);
/// Cut before each of the ascending `indices`: one part more than indices.
Tensors split(const Tensor& x, const std::vector<int64_t>& indices, int axis = 0);
/// The order along `axes` reversed; without axes along all.
Tensor flip(const Tensor& x, const Axes& axes = {});

struct SliceDescriptor {
  std::array<int64_t, Shape::kMaxRank> start, stop;
  std::array<int32_t, Shape::kMaxRank> step;
  SliceDescriptor();
  AxisRange range(int axis) const;
  void set(int axis, AxisRange range);
};
extern const OpDef kSlice;

/// Element i of the input goes to start + i * step of each axis of an output of zeros with the given sizes.
struct SliceBackwardDescriptor {
  std::array<int64_t, Shape::kMaxRank> start, size;
  std::array<int32_t, Shape::kMaxRank> step;
};
extern const OpDef kSliceBackward;

namespace detail {

/// What a call of kSlice or kSliceBackward moves.
StridedCopy slice_copy(const KernelCall& call);
StridedCopy slice_backward_copy(const KernelCall& call);

}  // namespace detail

}  // namespace nyala::ops
