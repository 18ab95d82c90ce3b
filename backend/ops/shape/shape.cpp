#include <cstring>
#include <string>

#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/base/grad_context.h>
#include <nyala/backend/ops/base/reduction_axes.h>
#include <nyala/backend/ops/shape/shape.h>

namespace nyala::ops {

namespace {

/// The product of the sizes that are known.
int64_t known_elements(const Shape& shape) {
  int64_t count = 1;
  for (const int64_t size : shape)
    if (size != None) count *= size;
  return count;
}

/// As it was asked for: -1 is the size that is left.
std::string as_written(const Shape& shape) {
  std::string text = shape.to_string();
  for (size_t at = text.find("None"); at != std::string::npos; at = text.find("None", at))
    text.replace(at, 4, "-1");
  return text;
}

int count_unknown(const Shape& shape) {
  int count = 0;
  for (const int64_t size : shape) count += size == None;
  return count;
}

void infer_reshape(InferContext& c) {
  const Shape& x = c.shape(0);
  Shape wanted = c.descriptor<ReshapeDescriptor>().shape;
  const int64_t given = known_elements(x), known = known_elements(wanted);
  const auto fail = [&] {
    c.fail("expected a shape with the number of elements of the input " + x.to_string() + ", received " +
           as_written(wanted));
  };
  const int unknown = count_unknown(wanted);
  if (unknown > 1 && x.is_known()) c.fail("expected at most one size of -1, received " + as_written(wanted));
  if (x.is_known() && unknown == 0 && given != known) fail();
  if (x.is_known() && unknown == 1) {
    if (known == 0 || given % known != 0) fail();
    for (int axis = 0; axis < wanted.rank(); ++axis)
      if (wanted[axis] == None) wanted.set(axis, given / known);
  }
  c.output(0, wanted, c.dtype(0));
}

void infer_flatten(InferContext& c) {
  const Shape& x = c.shape(0);
  const int first = c.descriptor<FlattenDescriptor>().first_axis;
  if (first > x.rank())
    c.fail("expected at least " + std::to_string(first) + " axes, received " + x.to_string());
  Shape out = x.slice(0, first);
  const Shape rest = x.slice(first, x.rank());
  out.append(rest.is_known() ? rest.num_elements() : None);
  c.output(0, out, c.dtype(0));
}

void infer_expand_dims(InferContext& c) {
  const Shape& x = c.shape(0);
  const int given = c.descriptor<ExpandDimsDescriptor>().axis;
  const int axis = given < 0 ? given + x.rank() + 1 : given;
  if (axis < 0 || axis > x.rank())
    c.fail("expected an axis from " + std::to_string(-x.rank() - 1) + " to " + std::to_string(x.rank()) +
           " for input " + x.to_string() + ", received " + std::to_string(given));
  Shape out = x.slice(0, axis);
  out.append(1);
  for (int i = axis; i < x.rank(); ++i) out.append(x[i]);
  c.output(0, out, c.dtype(0));
}

void infer_squeeze(InferContext& c) {
  const Shape& x = c.shape(0);
  const uint32_t axes = c.descriptor<SqueezeDescriptor>().axes;
  Shape out;
  for (int i = 0; i < x.rank(); ++i) {
    const bool chosen = axes == 0 ? x[i] == 1 : axes >> i & 1u;
    if (chosen && x[i] != 1 && x[i] != None)
      c.fail("expected size 1 on axis " + std::to_string(i) + ", received " + x.to_string());
    if (!chosen) out.append(x[i]);
  }
  c.output(0, out, c.dtype(0));
}

void reshape_reference(const KernelCall& call) {
  std::memcpy(call.output(0).raw(), call.input(0).raw(), call.output(0).bytes());
}

void view_gradient(GradContext& c) { c.set(0, viewed(c.grad(), c.input(0).shape())); }

}  // namespace

const OpDef kReshape = {.name = "reshape",
                        .infer = infer_reshape,
                        .gradient = view_gradient,
                        .reference = reshape_reference,
                        .is_view = true,
                        .twice_differentiable = true,
                        .takes_half = true,
                        .hands_on_gradients = true};
const OpDef kFlatten = {.name = "flatten",
                        .infer = infer_flatten,
                        .gradient = view_gradient,
                        .reference = reshape_reference,
                        .is_view = true,
                        .twice_differentiable = true,
                        .takes_half = true,
                        .hands_on_gradients = true};
const OpDef kExpandDims = {.name = "expand_dims",
                           .infer = infer_expand_dims,
                           .gradient = view_gradient,
                           .reference = reshape_reference,
                           .is_view = true,
                           .twice_differentiable = true,
                           .takes_half = true,
                           .hands_on_gradients = true};
const OpDef kSqueeze = {.name = "squeeze",
                        .infer = infer_squeeze,
                        .gradient = view_gradient,
                        .reference = reshape_reference,
                        .is_view = true,
                        .twice_differentiable = true,
                        .takes_half = true,
                        .hands_on_gradients = true};

Tensor viewed(const Tensor& x, const Shape& shape) {
  return x.tape() ? reshape(x, shape) : x.with_shape(shape);
}

Tensor reshape(const Tensor& x, const Shape& shape) {
  return dispatch(kReshape, ReshapeDescriptor{shape}, {&x});
}

Tensor flatten(const Tensor& x, int first_axis) {
  const int first = first_axis < 0 ? x.shape().normalize_axis(first_axis) : first_axis;
  return dispatch(kFlatten, FlattenDescriptor{first}, {&x});
}

Tensor ravel(const Tensor& x) { return flatten(x, 0); }

Tensor expand_dims(const Tensor& x, int axis) {
  return dispatch(kExpandDims, ExpandDimsDescriptor{axis}, {&x});
}

Tensor expand_dims(const Tensor& x, const Axes& axes) {
  if (axes.empty()) return x;
  Shape out;
  for (int i = 0; i < x.rank() + static_cast<int>(axes.size()); ++i) out.append(1);
  const uint32_t added = axes_mask(out, axes, "expand_dims");
  Tensor y = x;
  for (int i = 0; i < out.rank(); ++i)
    if (added >> i & 1u) y = expand_dims(y, i);
  return y;
}

Tensor squeeze(const Tensor& x, const Axes& axes) {
  SqueezeDescriptor descriptor;
  for (const int axis : axes) descriptor.axes |= 1u << x.shape().normalize_axis(axis);
  return dispatch(kSqueeze, descriptor, {&x});
}

}  // namespace nyala::ops
