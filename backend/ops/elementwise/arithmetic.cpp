#include <nyala/backend/ops/elementwise/arithmetic.h>

#include <algorithm>

#include <nyala/backend/core/dtype_range.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/binary_op.h>
#include <nyala/backend/ops/base/broadcasting.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/base/grad_context.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/ops/shape/shape.h>
#include <nyala/backend/runtime/device_registry.h>

namespace nyala::ops {

using namespace nyala::detail;

namespace {

template <class Formula>
void binary_reference(const KernelCall& call) {
  dispatch_arithmetic(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    const T* a = call.in<T>(0);
    const T* b = call.in<T>(1);
    T* y = call.out<T>(0);
    for_each_broadcast(
        call.input(0).shape(), call.input(1).shape(), call.output(0).shape(),
        [&](int64_t i, int64_t ia, int64_t ib) { y[i] = static_cast<T>(Formula{}(a[ia], b[ib])); });
  });
}

struct Plus {
  auto operator()(auto a, auto b) const { return a + b; }
};
struct Minus {
  auto operator()(auto a, auto b) const { return a - b; }
};
struct Times {
  auto operator()(auto a, auto b) const { return a * b; }
};
struct Over {
  auto operator()(auto a, auto b) const { return a / b; }
};

void add_gradient(GradContext& c) {
  for (size_t i = 0; i < 2; ++i)
    if (c.needs(i)) c.set(i, sum_to_shape(c.grad(), c.input(i).shape()));
}

void subtract_gradient(GradContext& c) {
  if (c.needs(0)) c.set(0, sum_to_shape(c.grad(), c.input(0).shape()));
  if (c.needs(1)) c.set(1, sum_to_shape(-c.grad(), c.input(1).shape()));
}

void multiply_gradient(GradContext& c) {
  if (c.needs(0)) c.set(0, sum_to_shape(c.grad() * c.input(1), c.input(0).shape()));
  if (c.needs(1)) c.set(1, sum_to_shape(c.grad() * c.input(0), c.input(1).shape()));
}

void divide_gradient(GradContext& c) {
  const Tensor by_b = c.grad() / c.input(1);
  if (c.needs(0)) c.set(0, sum_to_shape(by_b, c.input(0).shape()));
  if (c.needs(1)) c.set(1, sum_to_shape(-(by_b * c.output()), c.input(1).shape()));
}

void infer_divide(InferContext& c) {
  if (!is_floating(c.dtype(0))) c.fail("expected floating point inputs");
  infer_broadcast(c);
}

void infer_add_in_place(InferContext& c) { c.output(0, c.shape(0), c.dtype(0)); }

void add_in_place_reference(const KernelCall& call) {
  dispatch_arithmetic(call.output(0).dtype(), "add_in_place", [&]<class T>(T) {
    const int64_t count = call.output(0).num_elements();
    for (int64_t i = 0; i < count; ++i)
      call.out<T>(0)[i] = static_cast<T>(call.out<T>(0)[i] + call.in<T>(0)[i]);
  });
}

void infer_affine(InferContext& c) { c.output(0, c.shape(0), c.dtype(0)); }

void affine_reference(const KernelCall& call) {
  const auto& d = call.descriptor<AffineDescriptor>();
  dispatch_arithmetic(call.output(0).dtype(), "affine", [&]<class T>(T) {
    using Compute = std::conditional_t<std::is_same_v<T, float>, float, double>;
    const Compute scale = static_cast<Compute>(d.scale), offset = static_cast<Compute>(d.offset);
    const int64_t count = call.output(0).num_elements();
    for (int64_t i = 0; i < count; ++i)
      call.out<T>(0)[i] = static_cast<T>(static_cast<Compute>(call.in<T>(0)[i]) * scale + offset);
  });
}

void affine_gradient(GradContext& c) { c.set(0, affine(c.grad(), c.descriptor<AffineDescriptor>().scale)); }

void infer_full_like(InferContext& c) { c.output(0, c.shape(0), c.descriptor<FullLikeDescriptor>().dtype); }

void full_like_reference(const KernelCall& call) {
  const auto& d = call.descriptor<FullLikeDescriptor>();
  dispatch_any(d.dtype, [&]<class T>(T) {
    T value{};
    if constexpr (std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>)
      value = T(d.value.as<float>());
    else
      value = d.value.as<T>();
    std::fill_n(call.out<T>(0), call.output(0).num_elements(), value);
  });
}

/// The tensor beside a number whose dtype stays a floating one: one pass then does what an operator says.
const Tensor* floating_beside_number(const Operand& x, const Operand& number) {
  return x.tensor() && !number.tensor() && is_floating(x.tensor()->dtype()) ? x.tensor() : nullptr;
}

Tensor promoted(const OpDef& op, const Operand& a, const Operand& b) {
  return detail::apply_binary(op, a, b, detail::common_dtype(a, b, detail::SmallIntegers::widen));
}

}  // namespace

const OpDef kAdd = {.name = "add",
                    .infer = infer_broadcast,
                    .gradient = add_gradient,
                    .reference = binary_reference<Plus>,
                    .twice_differentiable = true};
const OpDef kSubtract = {.name = "subtract",
                         .infer = infer_broadcast,
                         .gradient = subtract_gradient,
                         .reference = binary_reference<Minus>,
                         .twice_differentiable = true};
const OpDef kMultiply = {.name = "multiply",
                         .infer = infer_broadcast,
                         .gradient = multiply_gradient,
                         .keep_inputs = keep(0, 1),
                         .is_product = true,
                         .reference = binary_reference<Times>,
                         .twice_differentiable = true};
const OpDef kDivide = {.name = "divide",
                       .infer = infer_divide,
                       .gradient = divide_gradient,
                       .keep_inputs = keep(1),
                       .keep_outputs = keep(0),
                       .reference = binary_reference<Over>,
                       .twice_differentiable = true};
const OpDef kAddInPlace = {
    .name = "add_in_place", .infer = infer_add_in_place, .reference = add_in_place_reference};
const OpDef kFullLike = {
    .name = "full_like", .infer = infer_full_like, .reference = full_like_reference, .takes_half = true};
const OpDef kAffine = {.name = "affine",
                       .infer = infer_affine,
                       .gradient = affine_gradient,
                       .reference = affine_reference,
                       .twice_differentiable = true};

Tensor add(const Operand& a, const Operand& b) {
  if (const Tensor* x = floating_beside_number(a, b)) return affine(*x, 1.0, b.number().as<double>());
  if (const Tensor* x = floating_beside_number(b, a)) return affine(*x, 1.0, a.number().as<double>());
  return promoted(kAdd, a, b);
}
Tensor subtract(const Operand& a, const Operand& b) {
  if (const Tensor* x = floating_beside_number(a, b)) return affine(*x, 1.0, -b.number().as<double>());
  if (const Tensor* x = floating_beside_number(b, a)) return affine(*x, -1.0, a.number().as<double>());
  return promoted(kSubtract, a, b);
}
Tensor multiply(const Operand& a, const Operand& b) {
  if (const Tensor* x = floating_beside_number(a, b)) return affine(*x, b.number().as<double>());
  if (const Tensor* x = floating_beside_number(b, a)) return affine(*x, a.number().as<double>());
  return promoted(kMultiply, a, b);
}
Tensor divide(const Operand& a, const Operand& b) {
  const DType dtype = detail::common_dtype(a, b, detail::SmallIntegers::keep);
  return detail::apply_binary(kDivide, a, b, detail::floating_of(dtype));
}

Tensor affine(const Tensor& x, double scale, double offset) {
  return dispatch(kAffine, AffineDescriptor{scale, offset}, {&x});
}

Tensor sum_to_shape(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  uint32_t axes = 0;
  const int extra = x.rank() - shape.rank();
  for (int axis = 0; axis < x.rank(); ++axis)
    if (axis < extra || (shape[axis - extra] == 1 && x.shape()[axis] != 1)) axes |= 1u << axis;
  if (axes == 0) return viewed(x, shape);
  return viewed(dispatch(kSum, ReductionDescriptor{axes, true}, {&x}), shape);
}

Tensor full_like(const Tensor& x, Number value, std::optional<DType> dtype) {
  const FullLikeDescriptor d{value, dtype.value_or(x.dtype())};
  check_holds(d.dtype, value, "full_like");
  return x.is_abstract() ? dispatch(kFullLike, d, {&x}) : Tensor::full(x.shape(), value, d.dtype, x.device());
}
Tensor ones_like(const Tensor& x, std::optional<DType> dtype) { return full_like(x, 1, dtype); }
Tensor zeros_like(const Tensor& x, std::optional<DType> dtype) { return full_like(x, 0, dtype); }

void detail::fill_zero(const Tensor& x) {
  if (x.bytes() > 0) stream_of(x.device()).fill_zero(x.raw(), x.bytes());
  x.storage()->bump_version();
}

}  // namespace nyala::ops

namespace nyala {

Tensor operator+(const Operand& a, const Operand& b) { return ops::add(a, b); }
Tensor operator-(const Operand& a, const Operand& b) { return ops::subtract(a, b); }
Tensor operator*(const Operand& a, const Operand& b) { return ops::multiply(a, b); }
Tensor operator/(const Operand& a, const Operand& b) { return ops::divide(a, b); }
Tensor operator-(const Tensor& a) { return is_floating(a.dtype()) ? ops::affine(a, -1.0) : 0 - a; }

}  // namespace nyala
