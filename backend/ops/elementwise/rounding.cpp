#include <algorithm>
#include <cmath>

#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/dtype_range.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/unary_op.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/shape/repeat.h>

namespace nyala::ops {

using namespace nyala::detail;

namespace {

struct Formula {
  using Parameters = NoDescriptor;
};
struct AnyFormula : Formula {
  static constexpr bool kTakesIntegers = true;
};

struct Absolute : AnyFormula {
  static constexpr bool kPiecewiseLinear = true;
  template <class T>
  static T value(T x, Parameters) {
    if constexpr (std::is_floating_point_v<T>)
      return std::abs(x);
    else if constexpr (std::is_signed_v<T>)
      return static_cast<T>(x < 0 ? -x : x);
    else
      return x;
  }
  template <class T>
  static T slope(T x, Parameters) {
    return static_cast<T>((x > 0) - (x < 0));
  }
};
struct Sign : AnyFormula {
  template <class T>
  static T value(T x, Parameters) {
    return x != x ? x : static_cast<T>((x > T{}) - (x < T{}));
  }
};
struct Square : AnyFormula {
  static constexpr bool kSlopeTakesTensors = true;
  static auto value(auto x, Parameters) { return x * x; }
  static auto slope(auto x, Parameters) { return 2 * x; }
};
struct Clip {
  using Parameters = ClipDescriptor;
  static constexpr bool kPiecewiseLinear = true;
  static constexpr bool kTakesIntegers = true;
  template <class T>
  static T value(T x, const Parameters& p) {
    if (static_cast<double>(x) < p.minimum) return static_cast<T>(p.minimum);
    return static_cast<double>(x) > p.maximum ? static_cast<T>(p.maximum) : x;
  }
  template <class T>
  static T slope(T x, const Parameters& p) {
    return static_cast<T>(x >= static_cast<T>(p.minimum) && x <= static_cast<T>(p.maximum));
  }
};
struct Floor : Formula {
  static auto value(auto x, Parameters) { return std::floor(x); }
};
struct Ceil : Formula {
  static auto value(auto x, Parameters) { return std::ceil(x); }
};
struct Trunc : Formula {
  static auto value(auto x, Parameters) { return std::trunc(x); }
};
struct Round : Formula {
  static auto value(auto x, Parameters) { return std::nearbyint(x); }
};

void infer_test(InferContext& c) { c.output(0, c.shape(0), DType::bool_); }

template <class Test>
void test_reference(const KernelCall& call) {
  dispatch_real(call.input(0).dtype(), call.op->name, [&]<class T>(T) {
    const int64_t count = call.output(0).num_elements();
    for (int64_t i = 0; i < count; ++i) call.out<bool>(0)[i] = Test{}(call.in<T>(0)[i]);
  });
}

struct IsNan {
  bool operator()(auto x) const { return std::isnan(x); }
};
struct IsInf {
  bool operator()(auto x) const { return std::isinf(x); }
};
struct IsFinite {
  bool operator()(auto x) const { return std::isfinite(x); }
};

Tensor no_bool(const Tensor& x) { return x.dtype() == DType::bool_ ? cast(x, DType::int32) : x; }

using namespace detail;

}  // namespace

const OpDef kAbsoluteGradient = unary_gradient_op<Absolute>("absolute_gradient");
const OpDef kSquareGradient = unary_gradient_op<Square>("square_gradient");
const OpDef kClipGradient = unary_gradient_op<Clip>("clip_gradient");

const OpDef kAbsolute = unary_op_of_input<Absolute, kAbsoluteGradient>("absolute");
const OpDef kSign = unary_op_of_slope_zero<Sign>("sign");
const OpDef kSquare = unary_op_of_input<Square, kSquareGradient>("square");
const OpDef kClip = unary_op_of_input<Clip, kClipGradient>("clip");
const OpDef kFloor = unary_op_without_gradient<Floor>("floor");
const OpDef kCeil = unary_op_without_gradient<Ceil>("ceil");
const OpDef kTrunc = unary_op_without_gradient<Trunc>("trunc");
const OpDef kRound = unary_op_without_gradient<Round>("round");
const OpDef kIsnan = {.name = "isnan", .infer = infer_test, .reference = test_reference<IsNan>};
const OpDef kIsinf = {.name = "isinf", .infer = infer_test, .reference = test_reference<IsInf>};
const OpDef kIsfinite = {.name = "isfinite", .infer = infer_test, .reference = test_reference<IsFinite>};

Tensor absolute(const Tensor& x) { return apply(kAbsolute, no_bool(x)); }
Tensor abs(const Tensor& x) { return absolute(x); }
Tensor sign(const Tensor& x) { return apply(kSign, no_bool(x)); }
Tensor square(const Tensor& x) { return apply(kSquare, no_bool(x)); }
Tensor negative(const Tensor& x) { return -no_bool(x); }

Tensor clip(const Tensor& x, double minimum, double maximum) {
  if (!(minimum <= maximum))
    throw InvalidArgumentError("clip: expected minimum <= maximum, received " + number_text(minimum) +
                               " and " + number_text(maximum));
  const auto fits = [](double bound) { return !std::isfinite(bound) || bound == std::trunc(bound); };
  const bool stays = is_floating(x.dtype()) || (fits(minimum) && fits(maximum));
  if (!is_floating(x.dtype()) && stays) {  // a bound that the dtype lacks is no bound, but on its own side
    check_holds(x.dtype(), std::max(minimum, 0.0), "clip");
    check_holds(x.dtype(), std::min(maximum, 0.0), "clip");
  }
  return apply(kClip, stays ? no_bool(x) : cast(x, DType::float32), ClipDescriptor{minimum, maximum});
}

Tensor floor(const Tensor& x) { return apply(kFloor, real(x)); }
Tensor ceil(const Tensor& x) { return apply(kCeil, real(x)); }
Tensor trunc(const Tensor& x) {
  return is_floating(x.dtype()) ? apply(kTrunc, x) : detail::with_bytes_apart(x, {&x, 1});
}
Tensor round(const Tensor& x) {
  return is_floating(x.dtype()) ? apply(kRound, x) : detail::with_bytes_apart(x, {&x, 1});
}
Tensor isnan(const Tensor& x) { return apply(kIsnan, real(x)); }
Tensor isinf(const Tensor& x) { return apply(kIsinf, real(x)); }
Tensor isfinite(const Tensor& x) { return apply(kIsfinite, real(x)); }

}  // namespace nyala::ops
