// Constant padding fills the result and copies x into its middle; its gradient is a slice. A mirrored pad
// reads from the position reflected at the edge (at the outermost pixel's middle: "reflect", at its border:
// "symmetric", as NumPy and TensorFlow name them); its gradient adds all that an element was shown at. Wider
// mirrors than the axis are refused, so one reflection is enough.
#include <algorithm>
#include <string>

#include <nyala/backend/core/dtype_range.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/base/grad_context.h>
#include <nyala/backend/ops/shape/pad.h>
#include <nyala/backend/ops/shape/slice.h>

namespace nyala::ops {

using namespace nyala::detail;
using namespace nyala::ops::detail;

namespace {

void check_width(InferContext& c, int axis) {
  const auto& d = c.descriptor<PadDescriptor>();
  const int64_t size = c.shape(0)[axis], before = d.before[static_cast<size_t>(axis)];
  const int64_t after = d.after[static_cast<size_t>(axis)];
  if (before < 0 || after < 0)
    c.fail("expected widths of at least 0, received " + std::to_string(before) + " and " +
           std::to_string(after) + " on axis " + std::to_string(axis));
  int64_t padded = 0;
  if (__builtin_add_overflow(before, after, &padded) || padded > INT64_MAX - std::max<int64_t>(size, 0))
    c.fail("widths of " + std::to_string(before) + " and " + std::to_string(after) + " on axis " +
           std::to_string(axis) + " of " + c.shape(0).to_string() +
           " make more elements than int64 can count");
  if (d.mode == PadMode::constant || size == None || std::max(before, after) == 0) return;
  const int64_t widest = d.mode == PadMode::reflect ? size - 1 : size;
  if (std::max(before, after) > widest)
    c.fail("expected a mirror of at most " + std::to_string(widest) + " elements on axis " +
           std::to_string(axis) + " of " + c.shape(0).to_string() + ", received " +
           std::to_string(std::max(before, after)));
}

void infer_pad(InferContext& c) {
  const auto& d = c.descriptor<PadDescriptor>();
  Shape out;
  for (int axis = 0; axis < c.shape(0).rank(); ++axis) {
    check_width(c, axis);
    const int64_t size = c.shape(0)[axis];
    const size_t i = static_cast<size_t>(axis);
    out.append(size == None ? None : size + d.before[i] + d.after[i]);
  }
  c.output(0, out, c.dtype(0));
}

/// The element of an axis of `size` that a mirrored pad shows at `position`, counted from the first real one.
int64_t mirrored(int64_t position, int64_t size, PadMode mode) {
  const int64_t edge = mode == PadMode::reflect ? 0 : 1;
  if (position < 0) return -position - edge;
  if (position >= size) return 2 * size - 2 + edge - position;
  return position;
}

/// Calls body(padded, element) with the offset of each element of the padded shape and of the one it shows.
template <class Body>
void for_each_mirrored(const PadDescriptor& d, const Shape& x, const Shape& padded, Body&& body) {
  std::array<int64_t, Shape::kMaxRank> index{};
  const int64_t count = padded.num_elements();
  for (int64_t i = 0; i < count; ++i) {
    int64_t offset = 0;
    for (int axis = 0; axis < x.rank(); ++axis) {
      const size_t k = static_cast<size_t>(axis);
      offset = offset * x[axis] + mirrored(index[k] - d.before[k], x[axis], d.mode);
    }
    body(i, offset);
    for (int axis = x.rank(); axis-- > 0;) {
      if (++index[static_cast<size_t>(axis)] < padded[axis]) break;
      index[static_cast<size_t>(axis)] = 0;
    }
  }
}

void pad_reference(const KernelCall& call) {
  const auto& d = call.descriptor<PadDescriptor>();
  const Tensor &x = call.input(0), &y = call.output(0);
  if (d.mode == PadMode::constant) {
    fill_pad_value(call);
    copy_strided(pad_copy(call), size_of(y.dtype()), x.raw(), y.raw());
    return;
  }
  dispatch_any(y.dtype(), [&]<class T>(T) {
    for_each_mirrored(d, x.shape(), y.shape(),
                      [&](int64_t i, int64_t k) { call.out<T>(0)[i] = call.in<T>(0)[k]; });
  });
}

void pad_gradient(GradContext& c) {
  const auto& d = c.descriptor<PadDescriptor>();
  if (d.mode != PadMode::constant) {
    c.emit(0, kPadBackward, d, {&c.grad()});
    return;
  }
  SliceDescriptor inside;
  for (int axis = 0; axis < c.input(0).rank(); ++axis) {
    const int64_t before = d.before[static_cast<size_t>(axis)];
    inside.set(axis, {before, before + c.input(0).shape()[axis], 0});
  }
  c.emit(0, kSlice, inside, {&c.grad()});
}

void pad_again(GradContext& c) { c.emit(0, kPad, c.descriptor<PadDescriptor>(), {&c.grad()}); }

void infer_pad_backward(InferContext& c) {
  const auto& d = c.descriptor<PadDescriptor>();
  Shape out;
  for (int axis = 0; axis < c.shape(0).rank(); ++axis)
    out.append(c.shape(0)[axis] - d.before[static_cast<size_t>(axis)] - d.after[static_cast<size_t>(axis)]);
  c.output(0, out, c.dtype(0));
}

void pad_backward_reference(const KernelCall& call) {
  const Tensor &dy = call.input(0), &dx = call.output(0);
  dispatch_real(dx.dtype(), call.op->name, [&]<class T>(T) {
    std::fill_n(call.out<T>(0), dx.num_elements(), T(0));
    for_each_mirrored(call.descriptor<PadDescriptor>(), dx.shape(), dy.shape(),
                      [&](int64_t i, int64_t k) { call.out<T>(0)[k] += call.in<T>(0)[i]; });
  });
}

PadMode parse_mode(std::string_view mode) {
  if (mode == "constant") return PadMode::constant;
  if (mode == "reflect") return PadMode::reflect;
  if (mode == "symmetric") return PadMode::symmetric;
  const std::vector<std::string> names{"constant", "reflect", "symmetric"};
  throw InvalidArgumentError("pad: expected a mode of " + quoted_list(names) + ", received " +
                             in_quotes(mode) + did_you_mean(mode, names));
}

}  // namespace

StridedCopy detail::pad_copy(const KernelCall& call) {
  const Shape &x = call.input(0).shape(), &y = call.output(0).shape();
  StridedCopy copy;
  int64_t from = x.num_elements(), to = y.num_elements();
  if (from == 0) {
    copy.add_axis(0, 1, 1);
    return copy;
  }
  for (int axis = 0; axis < x.rank(); ++axis) {
    from /= x[axis];
    to /= y[axis];
    copy.to_offset += call.descriptor<PadDescriptor>().before[static_cast<size_t>(axis)] * to;
    copy.add_axis(x[axis], from, to);
  }
  return copy;
}

void detail::fill_pad_value(const KernelCall& call) {
  const double value = call.descriptor<PadDescriptor>().value;
  dispatch_any(call.output(0).dtype(), [&]<class T>(T) {
    T filling{};
    if constexpr (std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>)
      filling = T(static_cast<float>(value));
    else
      filling = static_cast<T>(value);
    std::fill_n(call.out<T>(0), call.output(0).num_elements(), filling);
  });
}

const OpDef kPad = {.name = "pad",
                    .infer = infer_pad,
                    .gradient = pad_gradient,
                    .reference = pad_reference,
                    .twice_differentiable = true,
                    .takes_half = true};
const OpDef kPadBackward = {.name = "pad_backward",
                            .infer = infer_pad_backward,
                            .gradient = pad_again,
                            .reference = pad_backward_reference,
                            .twice_differentiable = true};

Tensor pad(const Tensor& x, const std::vector<std::pair<int64_t, int64_t>>& widths, std::string_view mode,
           double value) {
  if (widths.size() != static_cast<size_t>(x.rank()))
    throw ShapeError("pad: expected one pair of widths for each axis of " + x.shape().to_string() +
                     ", received " + std::to_string(widths.size()));
  check_holds(x.dtype(), value, "pad");
  PadDescriptor descriptor{.value = value, .mode = parse_mode(mode)};
  for (size_t i = 0; i < widths.size(); ++i) {
    descriptor.before[i] = widths[i].first;
    descriptor.after[i] = widths[i].second;
  }
  return dispatch(kPad, descriptor, {&x});
}

}  // namespace nyala::ops
