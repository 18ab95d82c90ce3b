#include <algorithm>
#include <string>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/broadcasting.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/base/grad_context.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/ops/shape/repeat.h>
#include <nyala/backend/ops/shape/shape.h>

namespace nyala::ops {

using namespace nyala::detail;
using namespace nyala::ops::detail;

namespace {

void infer_broadcast_to(InferContext& c) {
  const Shape& x = c.shape(0);
  Shape out = c.descriptor<BroadcastDescriptor>().shape;
  bool fits = x.rank() <= out.rank();
  for (int axis = 1; fits && axis <= x.rank(); ++axis) {
    if (out[-axis] == None) out.set(-axis, x[-axis]);
    fits = x[-axis] == out[-axis] || x[-axis] == 1 || x[-axis] == None;
  }
  if (!fits)
    c.fail("input " + x.to_string() + " does not broadcast to " +
           c.descriptor<BroadcastDescriptor>().shape.to_string());
  c.output(0, out, c.dtype(0));
}

void broadcast_to_gradient(GradContext& c) { c.set(0, sum_to_shape(c.grad(), c.input(0).shape())); }

void infer_repeat(InferContext& c) {
  const auto& d = c.descriptor<RepeatDescriptor>();
  int64_t size = c.shape(0)[d.axis];
  if (size != None && __builtin_mul_overflow(size, d.count, &size))
    c.fail(std::to_string(d.count) + " times axis " + std::to_string(d.axis) + " of " +
           c.shape(0).to_string() + " is more than int64 can count");
  c.output(0, c.shape(0).with(d.axis, size), c.dtype(0));
}

int64_t product(const Shape& shape, int first, int last) {
  int64_t count = 1;
  for (int axis = first; axis < last; ++axis) count *= shape[axis];
  return count;
}

void repeat_gradient(GradContext& c) {
  const auto& d = c.descriptor<RepeatDescriptor>();
  const Shape& x = c.input(0).shape();
  const Tensor split =
      viewed(c.grad(), {product(x, 0, d.axis + 1), d.count, product(x, d.axis + 1, x.rank())});
  c.set(0, viewed(sum(split, {1}), x));
}

void tile_gradient(GradContext& c) {
  const auto& d = c.descriptor<RepeatDescriptor>();
  const Shape& x = c.input(0).shape();
  const Tensor split = viewed(c.grad(), {product(x, 0, d.axis), d.count, product(x, d.axis, x.rank())});
  c.set(0, viewed(sum(split, {1}), x));
}

void copy_reference(const KernelCall& call) {
  copy_strided(repeat_copy(call), size_of(call.output(0).dtype()), call.input(0).raw(), call.output(0).raw());
}

int64_t checked_count(std::string_view where, int64_t count) {
  if (count < 0)
    throw InvalidArgumentError(std::string(where) + ": expected at least 0 repeats, received " +
                               std::to_string(count));
  return count;
}

/// Throws ShapeError where no memory holds the whole, before the first axis is made.
void check_tiled(Shape shape, const std::vector<int>& repeats, int extra) {
  for (size_t i = 0; i < repeats.size(); ++i) {
    const int axis = extra + static_cast<int>(i);
    int64_t size = shape[axis];
    if (size != None && __builtin_mul_overflow(size, checked_count("tile", repeats[i]), &size))
      return;  // infer_repeat() says so
    shape.set(axis, size);
  }
  if (shape.is_known()) shape.num_elements();
}

}  // namespace

StridedCopy detail::repeat_copy(const KernelCall& call) {
  const Shape &x = call.input(0).shape(), &y = call.output(0).shape();
  StridedCopy copy;
  if (call.op == &kBroadcastTo) {
    const auto strides = broadcast_strides(x, y);
    int64_t to = y.num_elements();
    for (int axis = 0; axis < y.rank() && to > 0; ++axis) {
      to /= y[axis];
      copy.add_axis(y[axis], strides[static_cast<size_t>(axis)], to);
    }
    return copy;
  }
  const auto& d = call.descriptor<RepeatDescriptor>();
  const int first_inner = call.op == &kRepeat ? d.axis + 1 : d.axis;
  const int64_t outer = product(x, 0, first_inner), inner = product(x, first_inner, x.rank());
  copy.add_axis(outer, inner, inner * d.count);
  copy.add_axis(d.count, 0, inner);
  copy.add_axis(inner, 1, 1);
  return copy;
}

const OpDef kBroadcastTo = {.name = "broadcast_to",
                            .infer = infer_broadcast_to,
                            .gradient = broadcast_to_gradient,
                            .reference = copy_reference,
                            .twice_differentiable = true,
                            .takes_half = true};
const OpDef kRepeat = {.name = "repeat",
                       .infer = infer_repeat,
                       .gradient = repeat_gradient,
                       .reference = copy_reference,
                       .twice_differentiable = true,
                       .takes_half = true};
const OpDef kTile = {.name = "tile",
                     .infer = infer_repeat,
                     .gradient = tile_gradient,
                     .reference = copy_reference,
                     .twice_differentiable = true,
                     .takes_half = true};

Tensor broadcast_to(const Tensor& x, const Shape& shape) {
  return dispatch(kBroadcastTo, BroadcastDescriptor{shape}, {&x});
}

Tensor repeat(const Tensor& x, int64_t repeats, int axis) {
  return dispatch(kRepeat, RepeatDescriptor{x.shape().normalize_axis(axis), checked_count("repeat", repeats)},
                  {&x});
}

Tensor tile(const Tensor& x, const std::vector<int>& repeats) {
  Tensor out = x;
  while (out.rank() < static_cast<int>(repeats.size())) out = expand_dims(out, 0);
  const int extra = out.rank() - static_cast<int>(repeats.size());
  check_tiled(out.shape(), repeats, extra);
  for (size_t i = 0; i < repeats.size(); ++i)
    if (checked_count("tile", repeats[i]) != 1)
      out = dispatch(kTile, RepeatDescriptor{extra + static_cast<int>(i), repeats[i]}, {&out});
  return detail::with_bytes_apart(out, {&x, 1});
}

Tensor detail::with_bytes_apart(const Tensor& y, std::span<const Tensor> inputs) {
  for (const Tensor& x : inputs)
    if (y.storage() && y.storage().get() == x.storage().get()) return broadcast_to(y, y.shape());
  return y;
}

}  // namespace nyala::ops
