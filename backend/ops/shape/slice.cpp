// Python's slices: bounds below 0 count from the end, steps may be negative, and all of it becomes an offset
// and a stride per axis (StridedCopy). The gradient is the same copy the other way round, into zeros.
#include <algorithm>
#include <cstring>
#include <string>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/base/grad_context.h>
#include <nyala/backend/ops/shape/slice.h>

namespace nyala::ops {

using namespace nyala::detail;
using namespace nyala::ops::detail;

namespace {

int64_t bound(int64_t given, int64_t size, int64_t low, int64_t high) {
  return std::clamp(given < 0 ? given + size : given, low, high);
}

int64_t sliced_size(InferContext& c, int axis) {
  const AxisRange range = c.descriptor<SliceDescriptor>().range(axis);
  const int64_t size = c.shape(0)[axis];
  if (range.step == 0 && range.stop != kToEnd) {
    if (size != None && range.stop > size)
      c.fail("expected elements " + std::to_string(range.start) + " to " + std::to_string(range.stop) +
             " to exist on axis " + std::to_string(axis) + ", received " + c.shape(0).to_string());
    return range.stop - range.start;
  }
  return size == None ? None : resolve(range, size).count;
}

void infer_slice(InferContext& c) {
  Shape out;
  for (int axis = 0; axis < c.shape(0).rank(); ++axis) out.append(sliced_size(c, axis));
  c.output(0, out, c.dtype(0));
}

void slice_reference(const KernelCall& call) {
  copy_strided(slice_copy(call), size_of(call.output(0).dtype()), call.input(0).raw(), call.output(0).raw());
}

void slice_gradient(GradContext& c) {
  const Shape& x = c.input(0).shape();
  SliceBackwardDescriptor back{};
  for (int axis = 0; axis < x.rank(); ++axis) {
    const size_t i = static_cast<size_t>(axis);
    const ResolvedRange range = resolve(c.descriptor<SliceDescriptor>().range(axis), x[axis]);
    back.start[i] = range.first;
    back.size[i] = x[axis];
    back.step[i] = static_cast<int32_t>(range.step);
  }
  c.emit(0, kSliceBackward, back, {&c.grad()});
}

void slice_backward_gradient(GradContext& c) {
  const auto& d = c.descriptor<SliceBackwardDescriptor>();
  const Shape& x = c.input(0).shape();
  SliceDescriptor chosen;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const size_t i = static_cast<size_t>(axis);
    const int64_t stop = d.start[i] + x[axis] * d.step[i];
    chosen.set(axis, {d.start[i], stop < 0 ? kToEnd : stop, d.step[i]});
  }
  c.emit(0, kSlice, chosen, {&c.grad()});
}

void infer_slice_backward(InferContext& c) {
  Shape out;
  for (int axis = 0; axis < c.shape(0).rank(); ++axis)
    out.append(c.descriptor<SliceBackwardDescriptor>().size[static_cast<size_t>(axis)]);
  c.output(0, out, c.dtype(0));
}

void slice_backward_reference(const KernelCall& call) {
  const Tensor& y = call.output(0);
  std::memset(y.raw(), 0, y.bytes());
  copy_strided(slice_backward_copy(call), size_of(y.dtype()), call.input(0).raw(), y.raw());
}

}  // namespace

ResolvedRange detail::resolve(const AxisRange& range, int64_t size) {
  const int64_t step = range.step == 0 ? 1 : range.step;
  ResolvedRange out{.step = step};
  if (step > 0) {
    out.first = range.start == kToEnd ? 0 : bound(range.start, size, 0, size);
    const int64_t stop = range.stop == kToEnd ? size : bound(range.stop, size, 0, size);
    out.count = std::max<int64_t>(0, (stop - out.first + step - 1) / step);
  } else {
    out.first = range.start == kToEnd ? size - 1 : bound(range.start, size, -1, size - 1);
    const int64_t stop = range.stop == kToEnd ? -1 : bound(range.stop, size, -1, size - 1);
    out.count = std::max<int64_t>(0, (out.first - stop - step - 1) / -step);
  }
  if (out.count == 0) out.first = 0;
  return out;
}

SliceDescriptor::SliceDescriptor() {
  start.fill(kToEnd);
  stop.fill(kToEnd);
  step.fill(1);
}

AxisRange SliceDescriptor::range(int axis) const {
  const size_t i = static_cast<size_t>(axis);
  return {start[i], stop[i], step[i]};
}

void SliceDescriptor::set(int axis, AxisRange range) {
  const size_t i = static_cast<size_t>(axis);
  start[i] = range.start;
  stop[i] = range.stop;
  step[i] = range.step;
}

StridedCopy detail::slice_copy(const KernelCall& call) {
  const Shape &x = call.input(0).shape(), &y = call.output(0).shape();
  StridedCopy copy;
  int64_t from = x.num_elements(), to = y.num_elements();
  for (int axis = 0; axis < x.rank() && to > 0; ++axis) {
    from /= x[axis];
    to /= y[axis];
    const ResolvedRange range = resolve(call.descriptor<SliceDescriptor>().range(axis), x[axis]);
    copy.from_offset += range.first * from;
    copy.add_axis(y[axis], range.step * from, to);
  }
  return copy;
}

StridedCopy detail::slice_backward_copy(const KernelCall& call) {
  const auto& d = call.descriptor<SliceBackwardDescriptor>();
  const Shape &x = call.input(0).shape(), &y = call.output(0).shape();
  StridedCopy copy;
  int64_t from = x.num_elements(), to = y.num_elements();
  if (from == 0) {
    copy.add_axis(0, 1, 1);
    return copy;
  }
  for (int axis = 0; axis < x.rank(); ++axis) {
    const size_t i = static_cast<size_t>(axis);
    from /= x[axis];
    to /= y[axis];
    copy.to_offset += d.start[i] * to;
    copy.add_axis(x[axis], from, d.step[i] * to);
  }
  return copy;
}

const OpDef kSlice = {.name = "slice",
                      .infer = infer_slice,
                      .gradient = slice_gradient,
                      .reference = slice_reference,
                      .twice_differentiable = true,
                      .takes_half = true};
const OpDef kSliceBackward = {.name = "slice_backward",
                              .infer = infer_slice_backward,
                              .gradient = slice_backward_gradient,
                              .reference = slice_backward_reference,
                              .twice_differentiable = true,
                              .takes_half = true};

Tensor strided_slice(const Tensor& x, const std::vector<AxisRange>& ranges) {
  if (ranges.size() > static_cast<size_t>(x.rank()))
    throw ShapeError("slice: expected at most " + std::to_string(x.rank()) + " ranges for " +
                     x.shape().to_string() + ", received " + std::to_string(ranges.size()));
  SliceDescriptor descriptor;
  for (size_t i = 0; i < ranges.size(); ++i) {
    const AxisRange& range = ranges[i];
    if (range.step == 0 && range.stop != kToEnd && (range.start < 0 || range.stop < range.start))
      throw ShapeError("slice: expected a strict range with 0 <= start <= stop, received " +
                       std::to_string(range.start) + " to " + std::to_string(range.stop));
    descriptor.set(static_cast<int>(i), range);
  }
  return dispatch(kSlice, descriptor, {&x});
}

Tensor slice(const Tensor& x, const std::vector<int64_t>& start, const std::vector<int64_t>& shape) {
  if (start.size() != static_cast<size_t>(x.rank()) || shape.size() != start.size())
    throw ShapeError("slice: expected a start and a size for each axis of " + x.shape().to_string() +
                     ", received " + std::to_string(start.size()) + " and " + std::to_string(shape.size()));
  std::vector<AxisRange> ranges;
  for (size_t i = 0; i < start.size(); ++i) {
    const int64_t size = x.shape()[static_cast<int>(i)];
    if (start[i] < 0 || shape[i] < -1 || (size != None && start[i] > size))
      throw ShapeError("slice: expected a block inside " + x.shape().to_string() + ", received start " +
                       std::to_string(start[i]) + " and size " + std::to_string(shape[i]) + " on axis " +
                       std::to_string(i));
    ranges.push_back(shape[i] < 0 ? AxisRange{.start = start[i]}
                                  : AxisRange{start[i], start[i] + shape[i], 0});
  }
  return strided_slice(x, ranges);
}

Tensor slice_axis(const Tensor& x, int axis, AxisRange range) {
  std::vector<AxisRange> ranges(static_cast<size_t>(x.shape().normalize_axis(axis)) + 1);
  ranges.back() = range;
  return strided_slice(x, ranges);
}

Tensors split(const Tensor& x, int sections, int axis) {
  const int64_t size = x.shape()[axis];
  if (sections < 1 || size == None || size % sections != 0)
    throw ShapeError("split: expected a number of sections that divides axis " + std::to_string(axis) +
                     " of " + x.shape().to_string() + ", received " + std::to_string(sections));
  std::vector<int64_t> indices;
  for (int i = 1; i < sections; ++i) indices.push_back(size / sections * i);
  return split(x, indices, axis);
}

Tensors split(const Tensor& x, const std::vector<int64_t>& indices, int axis) {
  if (!std::is_sorted(indices.begin(), indices.end()))
    throw InvalidArgumentError("split: expected ascending indices");
  Tensors parts;
  int64_t start = 0;
  for (const int64_t index : indices) {
    parts.push_back(slice_axis(x, axis, {start, index, 1}));
    start = index;
  }
  parts.push_back(slice_axis(x, axis, {.start = start}));
  return parts;
}

Tensor flip(const Tensor& x, const Axes& axes) {
  std::vector<AxisRange> ranges(static_cast<size_t>(x.rank()), AxisRange{.step = axes.empty() ? -1 : 1});
  for (const int axis : axes) ranges[static_cast<size_t>(x.shape().normalize_axis(axis))].step = -1;
  return strided_slice(x, ranges);
}

}  // namespace nyala::ops
