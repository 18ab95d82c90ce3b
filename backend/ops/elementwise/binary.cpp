#include <cmath>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/binary_op.h>
#include <nyala/backend/ops/base/grad_context.h>
#include <nyala/backend/ops/base/unary_op.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/comparison.h>
#include <nyala/backend/ops/elementwise/exponential.h>

namespace nyala::ops {

using namespace nyala::detail;

namespace {

using namespace detail;

struct Maximum {
  template <class T>
  T operator()(T a, T b) const {
    return a >= b || a != a ? a : b;
  }
  template <class T>
  T slope(int which, T a, T b) const {
    return static_cast<T>((which == 0) == (a >= b));
  }
};
struct Minimum {
  template <class T>
  T operator()(T a, T b) const {
    return a <= b || a != a ? a : b;
  }
  template <class T>
  T slope(int which, T a, T b) const {
    return static_cast<T>((which == 0) == (a <= b));
  }
};

template <class T>
T integer_power(T base, T exponent) {
  if (std::is_signed_v<T> && static_cast<int64_t>(exponent) < 0)
    throw NumericError("power: an integer cannot have a negative exponent; cast to float32");
  uint64_t result = 1,
           factor = static_cast<uint64_t>(base);  // wraps like the hardware, without undefined behaviour
  for (uint64_t left = static_cast<uint64_t>(exponent); left > 0; left >>= 1) {
    if (left & 1u) result *= factor;
    factor *= factor;
  }
  return static_cast<T>(result);
}

struct Power {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>)
      return std::pow(a, b);
    else
      return integer_power(a, b);
  }
  template <class T>
  T slope(int which, T a, T b) const {
    if (which == 0) return b == 0 ? T(0) : b * std::pow(a, b - 1);
    return std::pow(a, b) * (a > 0 ? std::log(a) : T(0));
  }
  static Tensor slope_op(int which, const Tensor& a, const Tensor& b) {
    const Tensor zeros = zeros_like(a + b), ones = ones_like(zeros);
    if (which == 0) return where(equal(b, zeros), zeros, b * power(a, where(equal(b, zeros), ones, b) - 1.0));
    const Tensor positive = greater(a, zeros);
    return power(a, b) * log(where(positive, a, ones));
  }
};

struct PowerScalar {
  using Parameters = PowerDescriptor;
  static constexpr bool kTakesIntegers = true;
  template <class T>
  static T value(T x, const Parameters& p) {
    return Power{}(x, static_cast<T>(p.exponent));
  }
  template <class T>
  static T slope(T x, const Parameters& p) {
    return Power{}.slope(0, x, static_cast<T>(p.exponent));
  }
  static Tensor slope_op(const Tensor& x, const Parameters& p) {
    return p.exponent == 0 ? zeros_like(x) : power(x, p.exponent - 1.0) * p.exponent;
  }
};

template <class T>
void check_divisor(T b) {
  if (b == T{}) throw NumericError("division of integers by zero");
}

struct FloorDivide {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      return std::floor(a / b);
    } else if constexpr (std::is_same_v<T, bool>) {
      check_divisor(b);
      return a;
    } else {
      check_divisor(b);
      if constexpr (std::is_signed_v<T>)
        if (b == -1)
          return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(a));  // the least integer / -1 traps
      const T quotient = static_cast<T>(a / b);
      return static_cast<T>(quotient - (a % b != 0 && (a < 0) != (b < 0)));
    }
  }
};
struct Mod {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      const T rest = std::fmod(a, b);
      return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    } else if constexpr (std::is_same_v<T, bool>) {
      check_divisor(b);
      return false;
    } else {
      check_divisor(b);
      if constexpr (std::is_signed_v<T>)
        if (b == -1) return T(0);
      const T rest = static_cast<T>(a % b);
      return static_cast<T>(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
    }
  }
  template <class T>
  T slope(int which, T a, T b) const {
    return which == 0 ? T(1) : -std::floor(a / b);
  }
};
struct SquaredDifference {
  auto operator()(auto a, auto b) const { return (a - b) * (a - b); }
  template <class T>
  T slope(int which, T a, T b) const {
    return (which == 0 ? 2 : -2) * (a - b);
  }
  static Tensor slope_op(int which, const Tensor& a, const Tensor& b) {
    return (a - b) * (which == 0 ? 2.0 : -2.0);
  }
};
struct Arctan2 {
  template <class T>
  auto operator()(T y, T x) const {
    return std::atan2(y, x);
  }
  template <class T>
  T slope(int which, T y, T x) const {
    return (which == 0 ? x : -y) / (x * x + y * y);
  }
  static Tensor slope_op(int which, const Tensor& y, const Tensor& x) {
    return (which == 0 ? x : -y) / (x * x + y * y);
  }
};

void infer_real(InferContext& c) {
  if (!is_floating(c.dtype(0))) c.fail("expected floating point inputs");
  infer_broadcast(c);
}

void infer_binary_gradient(InferContext& c) { c.output(0, c.shape(2), c.dtype(2)); }

template <class Formula>
void binary_gradient_loop(const KernelCall& call) {
  const int which = call.descriptor<BinaryGradientDescriptor>().which;
  dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    const T* a = call.in<T>(0);
    const T* b = call.in<T>(1);
    const T* dy = call.in<T>(2);
    T* out = call.out<T>(0);
    for_each_broadcast(
        call.input(0).shape(), call.input(1).shape(), call.output(0).shape(),
        [&](int64_t i, int64_t ia, int64_t ib) { out[i] = dy[i] * Formula{}.slope(which, a[ia], b[ib]); });
  });
}

/// The slope in input `which` as a tensor that can be differentiated.
template <class Formula, const OpDef& gradient_op>
Tensor recorded_slope_in(int which, GradContext& c) {
  if constexpr (requires { &Formula::slope_op; }) {
    return Formula::slope_op(which, c.input(0), c.input(1));
  } else {  // constant piece by piece
    const Tensor a = c.input(0).detached(), b = c.input(1).detached(), ones = ones_like(c.grad().detached());
    return dispatch(gradient_op, BinaryGradientDescriptor{which}, {&a, &b, &ones});
  }
}

template <class Formula, const OpDef& gradient_op>
void binary_gradient(GradContext& c) {
  if (!is_floating(c.output().dtype())) return;
  for (int i = 0; i < 2; ++i) {
    const size_t k = static_cast<size_t>(i);
    if (!c.needs(k)) continue;
    const BinaryGradientDescriptor d{i};
    if (c.records())
      c.set(k, sum_to_shape(c.grad() * recorded_slope_in<Formula, gradient_op>(i, c), c.input(k).shape()));
    else if (c.input(k).shape() == c.output().shape())
      c.emit(k, gradient_op, d, {&c.input(0), &c.input(1), &c.grad()});
    else
      c.set(k, sum_to_shape(dispatch(gradient_op, d, {&c.input(0), &c.input(1), &c.grad()}),
                            c.input(k).shape()));
  }
}

template <class Formula>
constexpr OpDef gradient_op_of(std::string_view name) {
  OpDef op;
  op.name = name;
  op.infer = infer_binary_gradient;
  op.reference = binary_gradient_loop<Formula>;
  return op;
}

template <class Formula, const OpDef& gradient_op>
constexpr OpDef differentiable(std::string_view name) {
  OpDef op;
  op.name = name;
  op.infer = infer_broadcast;
  op.gradient = binary_gradient<Formula, gradient_op>;
  op.keep_inputs = keep(0, 1);
  op.reference = binary_loop<Formula>;
  op.twice_differentiable = true;
  return op;
}

void arctan2_reference(const KernelCall& call) {
  dispatch_real(call.input(0).dtype(), "arctan2", [&]<class T>(T) {
    for_each_broadcast(call.input(0).shape(), call.input(1).shape(), call.output(0).shape(),
                       [&](int64_t i, int64_t ia, int64_t ib) {
                         call.out<T>(0)[i] = Arctan2{}(call.in<T>(0)[ia], call.in<T>(1)[ib]);
                       });
  });
}

void infer_where(InferContext& c) {
  if (c.dtype(0) != DType::bool_) c.fail("expected a condition of dtype bool");
  if (c.dtype(1) != c.dtype(2)) c.fail("expected two choices of one dtype");
  const Shape choices = broadcast(c.shape(1), c.shape(2), c.name());
  c.output(0, broadcast(c.shape(0), choices, c.name()), c.dtype(1));
}

void where_reference(const KernelCall& call) {
  const Shape& shape = call.output(0).shape();
  const bool* condition = call.in<bool>(0);
  dispatch_any(call.output(0).dtype(), [&]<class T>(T) {
    T* y = call.out<T>(0);
    for_each_broadcast(call.input(0).shape(), call.input(1).shape(), shape,
                       [&](int64_t i, int64_t ic, int64_t ia) {
                         if (condition[ic]) y[i] = call.in<T>(1)[ia];
                       });
    for_each_broadcast(call.input(0).shape(), call.input(2).shape(), shape,
                       [&](int64_t i, int64_t ic, int64_t ib) {
                         if (!condition[ic]) y[i] = call.in<T>(2)[ib];
                       });
  });
}

void infer_where_gradient(InferContext& c) { c.output(0, c.shape(1), c.dtype(1)); }

void where_gradient_reference(const KernelCall& call) {
  const bool kept = call.descriptor<WhereGradientDescriptor>().kept;
  dispatch_real(call.output(0).dtype(), "where", [&]<class T>(T) {
    for_each_broadcast(call.input(0).shape(), call.input(1).shape(), call.output(0).shape(),
                       [&](int64_t i, int64_t ic, int64_t ig) {
                         call.out<T>(0)[i] = call.in<bool>(0)[ic] == kept ? call.in<T>(1)[ig] : T(0);
                       });
  });
}

void where_gradient_again(GradContext& c) {
  c.emit(1, kWhereGradient, c.descriptor<WhereGradientDescriptor>(), {&c.input(0), &c.grad()});
}

void where_gradient(GradContext& c) {
  if (!is_floating(c.output().dtype())) return;
  for (const size_t i : {size_t{1}, size_t{2}}) {
    if (!c.needs(i)) continue;
    const Tensor masked = dispatch(kWhereGradient, WhereGradientDescriptor{i == 1}, {&c.input(0), &c.grad()});
    c.set(i, sum_to_shape(masked, c.input(i).shape()));
  }
}

Tensor promoted(const OpDef& op, const Operand& a, const Operand& b,
                SmallIntegers small = SmallIntegers::keep) {
  return apply_binary(op, a, b, common_dtype(a, b, small));
}

}  // namespace

const OpDef kMaximumGradient = gradient_op_of<Maximum>("maximum_gradient");
const OpDef kMinimumGradient = gradient_op_of<Minimum>("minimum_gradient");
const OpDef kPowerGradient = gradient_op_of<Power>("power_gradient");
const OpDef kModGradient = gradient_op_of<Mod>("mod_gradient");
const OpDef kSquaredDifferenceGradient = gradient_op_of<SquaredDifference>("squared_difference_gradient");
const OpDef kArctan2Gradient = gradient_op_of<Arctan2>("arctan2_gradient");

const OpDef kPowerScalarGradient = unary_gradient_op<PowerScalar>("power_scalar_gradient");
const OpDef kPowerScalar = unary_op_of_input<PowerScalar, kPowerScalarGradient>("power_scalar");

const OpDef kMaximum = differentiable<Maximum, kMaximumGradient>("maximum");
const OpDef kMinimum = differentiable<Minimum, kMinimumGradient>("minimum");
const OpDef kPower = differentiable<Power, kPowerGradient>("power");
const OpDef kMod = differentiable<Mod, kModGradient>("mod");
const OpDef kSquaredDifference =
    differentiable<SquaredDifference, kSquaredDifferenceGradient>("squared_difference");
const OpDef kArctan2 = {.name = "arctan2",
                        .infer = infer_real,
                        .gradient = binary_gradient<Arctan2, kArctan2Gradient>,
                        .keep_inputs = keep(0, 1),
                        .reference = arctan2_reference,
                        .twice_differentiable = true};
const OpDef kFloorDivide = {
    .name = "floor_divide", .infer = infer_broadcast, .reference = binary_loop<FloorDivide>};
const OpDef kWhere = {.name = "where",
                      .infer = infer_where,
                      .gradient = where_gradient,
                      .keep_inputs = keep(0),
                      .reference = where_reference,
                      .twice_differentiable = true,
                      .takes_half = true};
const OpDef kWhereGradient = {.name = "where_gradient",
                              .infer = infer_where_gradient,
                              .gradient = where_gradient_again,
                              .keep_inputs = keep(0),
                              .reference = where_gradient_reference,
                              .twice_differentiable = true};

Tensor maximum(const Operand& a, const Operand& b) { return promoted(kMaximum, a, b); }
Tensor minimum(const Operand& a, const Operand& b) { return promoted(kMinimum, a, b); }

Tensor power(const Operand& a, const Operand& b) {
  DType dtype = common_dtype(a, b, SmallIntegers::keep);
  if (!a.tensor() || b.tensor()) return apply_binary(kPower, a, b, dtype);
  const double exponent = b.number().as<double>();
  if (exponent < 0) dtype = floating_of(dtype);
  return apply(kPowerScalar, cast(*a.tensor(), dtype), PowerDescriptor{exponent});
}

Tensor mod(const Operand& a, const Operand& b) { return promoted(kMod, a, b, SmallIntegers::widen); }
Tensor floor_divide(const Operand& a, const Operand& b) { return promoted(kFloorDivide, a, b); }
Tensor squared_difference(const Operand& a, const Operand& b) {
  return promoted(kSquaredDifference, a, b, SmallIntegers::widen);
}

Tensor arctan2(const Operand& y, const Operand& x) {
  return apply_binary(kArctan2, y, x, floating_of(common_dtype(y, x, SmallIntegers::keep)));
}

Tensor where(const Tensor& condition, const Operand& a, const Operand& b) {
  const DType dtype = common_dtype(a, b, SmallIntegers::keep);
  const Operand place(condition);  // of two numbers
  Tensor made_x, made_y;
  const Tensor truth = cast(condition, DType::bool_);
  const Tensor &x = in_dtype(a, dtype, b.tensor() ? b : place, made_x),
               &y = in_dtype(b, dtype, a.tensor() ? a : place, made_y);
  return dispatch(kWhere, NoDescriptor{}, {&truth, &x, &y});
}

}  // namespace nyala::ops
