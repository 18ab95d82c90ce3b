#include <string>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/base/grad_context.h>
#include <nyala/backend/ops/shape/concatenate.h>
#include <nyala/backend/ops/shape/shape.h>
#include <nyala/backend/ops/shape/slice.h>

namespace nyala::ops {

using namespace nyala::detail;
using namespace nyala::ops::detail;

namespace {

/// Merges the sizes of one more input into `out`; an unknown size takes the other's.
void join(InferContext& c, Shape& out, const Shape& shape, int joined) {
  bool fits = shape.rank() == out.rank();
  for (int axis = 0; fits && axis < out.rank(); ++axis) {
    const int64_t a = out[axis], b = shape[axis];
    int64_t sum = None;
    if (axis == joined && a != None && b != None && __builtin_add_overflow(a, b, &sum))
      c.fail("the sizes of axis " + std::to_string(joined) + " add up to more than int64 can count");
    if (axis == joined)
      out.set(axis, sum);
    else if (a == None)
      out.set(axis, b);
    else
      fits = b == None || a == b;
  }
  if (!fits)
    c.fail("expected shapes that are equal but for axis " + std::to_string(joined) + ", received " +
           c.shape(0).to_string() + " and " + shape.to_string());
}

void infer_concatenate(InferContext& c) {
  const int axis = c.descriptor<ConcatenateDescriptor>().axis;
  Shape out = c.shape(0);
  if (axis >= out.rank()) c.fail("axis " + std::to_string(axis) + " does not exist in " + out.to_string());
  for (size_t i = 1; i < c.num_inputs(); ++i) {
    if (c.dtype(i) != c.dtype(0))
      c.fail("expected inputs of one dtype, received " + std::string(name_of(c.dtype(0))) + " and " +
             std::string(name_of(c.dtype(i))));
    join(c, out, c.shape(i), axis);
  }
  c.output(0, out, c.dtype(0));
}

void concatenate_reference(const KernelCall& call) {
  int64_t position = 0;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const StridedCopy copy = concatenate_copy(call, i, position);
    copy_strided(copy, size_of(call.output(0).dtype()), call.input(i).raw(), call.output(0).raw());
  }
}

void concatenate_gradient(GradContext& c) {
  const int axis = c.descriptor<ConcatenateDescriptor>().axis;
  int64_t position = 0;
  for (size_t i = 0; i < c.num_inputs(); ++i) {
    const int64_t size = c.input(i).shape()[axis];
    SliceDescriptor part;
    part.set(axis, {position, position + size, 0});
    if (c.needs(i)) c.emit(i, kSlice, part, {&c.grad()});
    position += size;
  }
}

}  // namespace

StridedCopy detail::concatenate_copy(const KernelCall& call, size_t i, int64_t& position) {
  const int axis = call.descriptor<ConcatenateDescriptor>().axis;
  const Shape &x = call.input(i).shape(), &y = call.output(0).shape();
  int64_t outer = 1, inner = 1;
  for (int k = 0; k < x.rank(); ++k) (k < axis ? outer : inner) *= x[k];
  int64_t row = 1;  // elements of the output from one outer index to the next
  for (int k = axis; k < y.rank(); ++k) row *= y[k];
  StridedCopy copy;
  copy.to_offset = x[axis] == 0 ? 0 : position * (inner / x[axis]);
  copy.add_axis(outer, inner, row);
  copy.add_axis(inner, 1, 1);
  position += x[axis];
  return copy;
}

const OpDef kConcatenate = {.name = "concatenate",
                            .infer = infer_concatenate,
                            .gradient = concatenate_gradient,
                            .reference = concatenate_reference,
                            .fast_kernels_take_empty = true,
                            .twice_differentiable = true,
                            .takes_half = true};

Tensor concatenate(const Tensors& tensors, int axis) {
  if (tensors.empty()) throw InvalidArgumentError("concatenate: expected at least one tensor, received none");
  const ConcatenateDescriptor descriptor{tensors[0].shape().normalize_axis(axis)};
  DType dtype = tensors[0].dtype();
  bool alike = true;
  for (const Tensor& tensor : tensors) {
    alike = alike && tensor.dtype() == tensors[0].dtype();
    dtype = promote(dtype, tensor.dtype());
  }
  Tensors converted;
  std::vector<const Tensor*> inputs;
  inputs.reserve(tensors.size());
  if (!alike)
    for (const Tensor& tensor : tensors) converted.push_back(cast(tensor, dtype));
  for (const Tensor& tensor : alike ? tensors : converted) inputs.push_back(&tensor);
  Tensor output;
  dispatch(kConcatenate, descriptor, inputs, std::span(&output, 1));
  return output;
}

Tensor stack(const Tensors& tensors, int axis) {
  if (tensors.empty()) throw InvalidArgumentError("stack: expected at least one tensor, received none");
  Tensors wider;
  for (const Tensor& tensor : tensors) {
    if (!matches(tensor.shape(), tensors[0].shape()))
      throw ShapeError("stack: expected tensors of one shape, received " + tensors[0].shape().to_string() +
                       " and " + tensor.shape().to_string());
    wider.push_back(expand_dims(tensor, axis));
  }
  return concatenate(wider, axis);
}

}  // namespace nyala::ops
