// Rows by index and, backwards, gradients added to rows by index, in the order of the indices. A bad index is
// not an error at once, for which the host would have to wait: its row is NaN and the status word of the
// device says what was wrong.
#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/base/grad_context.h>
#include <nyala/backend/ops/shape/gather.h>
#include <nyala/backend/runtime/status_word.h>

namespace nyala::ops {

using namespace nyala::detail;
using namespace nyala::ops::detail;

namespace {

void check_index_dtype(InferContext& c, size_t i) {
  const DType dtype = c.dtype(i);
  if (dtype != DType::int32 && dtype != DType::int64 && dtype != DType::uint8)
    c.fail("expected indices of int32, int64 or uint8, received " + std::string(name_of(dtype)));
}

void infer_take(InferContext& c) {
  check_index_dtype(c, 1);
  const Shape& x = c.shape(0);
  const int axis = c.descriptor<GatherDescriptor>().axis;
  Shape out = x.slice(0, axis);
  for (const int64_t size : c.shape(1)) out.append(size);
  for (int i = axis + 1; i < x.rank(); ++i) out.append(x[i]);
  c.output(0, out, c.dtype(0));
}

/// What stands where an index is bad.
template <class T>
T missing() {
  if constexpr (std::is_floating_point_v<T>)
    return std::numeric_limits<T>::quiet_NaN();
  else if constexpr (std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>)
    return T(std::numeric_limits<float>::quiet_NaN());
  else
    return T{};
}

void take_reference(const KernelCall& call) {
  const auto g =
      take_geometry(call.input(0).shape(), call.input(1).shape(), call.descriptor<GatherDescriptor>().axis);
  dispatch_any(call.output(0).dtype(), [&]<class T>(T) {
    for_each_index(call.input(1), g.size, [&](int64_t position, int64_t index) {
      if (index < 0) report_bad_index(call, position, g.size);
      for (int64_t o = 0; o < g.outer; ++o) {
        T* y = call.out<T>(0) + (o * g.count + position) * g.inner;
        if (index < 0)
          std::fill_n(y, g.inner, missing<T>());
        else
          std::copy_n(call.in<T>(0) + (o * g.size + index) * g.inner, g.inner, y);
      }
    });
  });
}

void take_gradient(GradContext& c) {
  const int axis = c.descriptor<GatherDescriptor>().axis;
  c.emit(0, kTakeBackward, ScatterAddDescriptor{axis, c.input(0).shape()[axis]}, {&c.grad(), &c.input(1)});
}

void infer_take_backward(InferContext& c) {
  const auto& d = c.descriptor<ScatterAddDescriptor>();
  const Shape& dy = c.shape(0);
  Shape out = dy.slice(0, d.axis);
  out.append(d.size);
  for (int i = d.axis + c.shape(1).rank(); i < dy.rank(); ++i) out.append(dy[i]);
  c.output(0, out, c.dtype(0));
}

void take_backward_add_reference(const KernelCall& call) {
  const Tensor& dx = call.output(0);
  const auto g =
      take_geometry(dx.shape(), call.input(1).shape(), call.descriptor<ScatterAddDescriptor>().axis);
  dispatch_real(dx.dtype(), call.op->name, [&]<class T>(T) {
    for_each_index(call.input(1), g.size, [&](int64_t position, int64_t index) {
      if (index < 0) return;
      for (int64_t o = 0; o < g.outer; ++o) {
        const T* from = call.in<T>(0) + (o * g.count + position) * g.inner;
        T* to = call.out<T>(0) + (o * g.size + index) * g.inner;
        for (int64_t i = 0; i < g.inner; ++i) to[i] += from[i];
      }
    });
  });
}

void take_backward_reference(const KernelCall& call) {
  std::memset(call.output(0).raw(), 0, call.output(0).bytes());
  take_backward_add_reference(call);
}

void infer_take_along_axis(InferContext& c) {
  check_index_dtype(c, 1);
  const Shape &x = c.shape(0), &indices = c.shape(1);
  const int axis = c.descriptor<GatherDescriptor>().axis;
  if (x.rank() != indices.rank() || !matches(x.with(axis, None), indices.with(axis, None)))
    c.fail("expected x and indices of equal shapes but for axis " + std::to_string(axis) + ", received " +
           x.to_string() + " and " + indices.to_string());
  c.output(0, indices, c.dtype(0));
}

/// Offset in the [outer][size][inner] tensor for element `position` of the [outer][count][inner] index
/// tensor.
int64_t along_offset(const TakeGeometry& g, int64_t position, int64_t index) {
  const int64_t o = position / (g.count * g.inner), i = position % g.inner;
  return (o * g.size + index) * g.inner + i;
}

TakeGeometry along_geometry(const Shape& x, const Shape& indices, int axis) {
  TakeGeometry g = take_geometry(x, Shape{}, axis);
  g.count = indices[axis];
  return g;
}

void take_along_axis_reference(const KernelCall& call) {
  const auto g =
      along_geometry(call.input(0).shape(), call.input(1).shape(), call.descriptor<GatherDescriptor>().axis);
  dispatch_any(call.output(0).dtype(), [&]<class T>(T) {
    for_each_index(call.input(1), g.size, [&](int64_t position, int64_t index) {
      if (index < 0) report_bad_index(call, position, g.size);
      call.out<T>(0)[position] = index < 0 ? missing<T>() : call.in<T>(0)[along_offset(g, position, index)];
    });
  });
}

void take_along_axis_gradient(GradContext& c) {
  const int axis = c.descriptor<GatherDescriptor>().axis;
  c.emit(0, kTakeAlongAxisBackward, ScatterAddDescriptor{axis, c.input(0).shape()[axis]},
         {&c.grad(), &c.input(1)});
}

void infer_take_along_axis_backward(InferContext& c) {
  const auto& d = c.descriptor<ScatterAddDescriptor>();
  c.output(0, c.shape(0).with(d.axis, d.size), c.dtype(0));
}

void take_along_axis_backward_reference(const KernelCall& call) {
  const Tensor& dx = call.output(0);
  const auto g =
      along_geometry(dx.shape(), call.input(1).shape(), call.descriptor<ScatterAddDescriptor>().axis);
  dispatch_real(dx.dtype(), call.op->name, [&]<class T>(T) {
    std::fill_n(call.out<T>(0), dx.num_elements(), T(0));
    for_each_index(call.input(1), g.size, [&](int64_t position, int64_t index) {
      if (index >= 0) call.out<T>(0)[along_offset(g, position, index)] += call.in<T>(0)[position];
    });
  });
}

void infer_one_hot(InferContext& c) {
  check_index_dtype(c, 0);
  const auto& d = c.descriptor<OneHotDescriptor>();
  const Shape& indices = c.shape(0);
  Shape out = indices.slice(0, d.axis);
  out.append(d.num_classes);
  for (int i = d.axis; i < indices.rank(); ++i) out.append(indices[i]);
  c.output(0, out, d.dtype);
}

void one_hot_reference(const KernelCall& call) {
  const auto& d = call.descriptor<OneHotDescriptor>();
  const Tensor &indices = call.input(0), &y = call.output(0);
  int64_t inner = 1;
  for (int axis = d.axis; axis < indices.rank(); ++axis) inner *= indices.shape()[axis];
  std::memset(y.raw(), 0, y.bytes());
  dispatch_any(y.dtype(), [&]<class T>(T) {
    dispatch_arithmetic(indices.dtype(), call.op->name, [&]<class I>(I) {
      const int64_t count = indices.num_elements();
      for (int64_t i = 0; i < count; ++i) {
        const int64_t index = static_cast<int64_t>(call.in<I>(0)[i]);
        if (index < 0 || index >= d.num_classes) continue;
        call.out<T>(0)[(i / inner * d.num_classes + index) * inner + i % inner] = T(1);
      }
    });
  });
}

Tensor gather(const OpDef& op, const Tensor& x, const Tensor& indices, int axis) {
  return dispatch(op, GatherDescriptor{x.shape().normalize_axis(axis)}, {&x, &indices});
}

}  // namespace

TakeGeometry detail::take_geometry(const Shape& x, const Shape& indices, int axis) {
  TakeGeometry g;
  for (int i = 0; i < axis; ++i) g.outer *= x[i];
  for (int i = axis + 1; i < x.rank(); ++i) g.inner *= x[i];
  g.size = x[axis];
  g.count = indices.num_elements();
  return g;
}

void detail::report_bad_index(const KernelCall& call, int64_t position, int64_t size) {
  int64_t value = 0;
  dispatch_arithmetic(call.input(1).dtype(), call.op->name,
                      [&]<class I>(I) { value = static_cast<int64_t>(call.in<I>(1)[position]); });
  report_status(*call.inputs.back(),
                {StatusCode::index_out_of_range, position, value, size, call.input(1).shape()});
}

const OpDef kTake = {.name = "take",
                     .infer = infer_take,
                     .gradient = take_gradient,
                     .keep_inputs = keep(1),
                     .reference = take_reference,
                     .reports_status = true,
                     .takes_half = true};
const OpDef kTakeBackward = {
    .name = "take_backward", .infer = infer_take_backward, .reference = take_backward_reference};
const OpDef kTakeBackwardAdd = {
    .name = "take_backward_add", .infer = infer_take_backward, .reference = take_backward_add_reference};
const OpDef kTakeAlongAxis = {.name = "take_along_axis",
                              .infer = infer_take_along_axis,
                              .gradient = take_along_axis_gradient,
                              .keep_inputs = keep(1),
                              .reference = take_along_axis_reference,
                              .reports_status = true,
                              .takes_half = true};
const OpDef kTakeAlongAxisBackward = {.name = "take_along_axis_backward",
                                      .infer = infer_take_along_axis_backward,
                                      .reference = take_along_axis_backward_reference};
const OpDef kOneHot = {
    .name = "one_hot", .infer = infer_one_hot, .reference = one_hot_reference, .takes_half = true};

Tensor take(const Tensor& x, const Tensor& indices, int axis) { return gather(kTake, x, indices, axis); }

Tensor take_along_axis(const Tensor& x, const Tensor& indices, int axis) {
  return gather(kTakeAlongAxis, x, indices, axis);
}

Tensor one_hot(const Tensor& indices, int64_t num_classes, int axis, DType dtype) {
  if (num_classes < 0)
    throw InvalidArgumentError("one_hot: expected at least 0 classes, received " +
                               std::to_string(num_classes));
  const int rank = indices.rank() + 1, position = axis < 0 ? axis + rank : axis;
  if (position < 0 || position >= rank)
    throw ShapeError("one_hot: axis " + std::to_string(axis) + " does not exist in a result of " +
                     std::to_string(rank) + " axes");
  const Tensor whole = is_floating(indices.dtype()) ? cast(indices, DType::int64) : indices;
  return dispatch(kOneHot, OneHotDescriptor{num_classes, position, dtype}, {&whole});
}

}  // namespace nyala::ops
