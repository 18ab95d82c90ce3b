#include <cmath>
#include <numbers>

#include <nyala/backend/ops/base/unary_op.h>
#include <nyala/backend/ops/elementwise/exponential.h>

namespace nyala::ops {

using namespace nyala::detail;

namespace {

struct Formula {
  using Parameters = NoDescriptor;
};

struct Exp : Formula {
  static constexpr bool kSlopeTakesTensors = true;
  static auto value(auto x, Parameters) { return std::exp(x); }
  static auto slope(auto y, Parameters) { return y; }
};
struct Expm1 : Formula {
  static constexpr bool kSlopeTakesTensors = true;
  static auto value(auto x, Parameters) { return std::expm1(x); }
  static auto slope(auto y, Parameters) { return y + 1; }
};
struct Log : Formula {
  static constexpr bool kSlopeTakesTensors = true;
  static auto value(auto x, Parameters) { return std::log(x); }
  static auto slope(auto x, Parameters) { return 1 / x; }
};
struct Log1p : Formula {
  static constexpr bool kSlopeTakesTensors = true;
  static auto value(auto x, Parameters) { return std::log1p(x); }
  static auto slope(auto x, Parameters) { return 1 / (1 + x); }
};
struct Log2 : Formula {
  static Tensor slope_op(const Tensor& x, const Parameters&) { return std::numbers::log2e / x; }
  static auto value(auto x, Parameters) { return std::log2(x); }
  template <class T>
  static T slope(T x, Parameters) {
    return std::numbers::log2e_v<T> / x;
  }
};
struct Log10 : Formula {
  static Tensor slope_op(const Tensor& x, const Parameters&) { return std::numbers::log10e / x; }
  static auto value(auto x, Parameters) { return std::log10(x); }
  template <class T>
  static T slope(T x, Parameters) {
    return std::numbers::log10e_v<T> / x;
  }
};
struct Sqrt : Formula {
  static Tensor slope_op(const Tensor& y, const Parameters&) { return 0.5 / y; }
  static auto value(auto x, Parameters) { return std::sqrt(x); }
  template <class T>
  static T slope(T y, Parameters) {
    return T(0.5) / y;
  }
};
struct Rsqrt : Formula {
  static Tensor slope_op(const Tensor& y, const Parameters&) { return y * y * y * -0.5; }
  static auto value(auto x, Parameters) { return 1 / std::sqrt(x); }
  template <class T>
  static T slope(T y, Parameters) {
    return T(-0.5) * y * y * y;
  }
};
struct Reciprocal : Formula {
  static constexpr bool kSlopeTakesTensors = true;
  static auto value(auto x, Parameters) { return 1 / x; }
  static auto slope(auto y, Parameters) { return -y * y; }
};
struct Erf : Formula {
  static Tensor slope_op(const Tensor& x, const Parameters&) {
    return exp(-(x * x)) * (2.0 * std::numbers::inv_sqrtpi);
  }
  static auto value(auto x, Parameters) { return std::erf(x); }
  template <class T>
  static T slope(T x, Parameters) {
    return 2 * std::numbers::inv_sqrtpi_v<T> * std::exp(-x * x);
  }
};

using namespace detail;

}  // namespace

const OpDef kExpGradient = unary_gradient_op<Exp>("exp_gradient");
const OpDef kExpm1Gradient = unary_gradient_op<Expm1>("expm1_gradient");
const OpDef kLogGradient = unary_gradient_op<Log>("log_gradient");
const OpDef kLog1pGradient = unary_gradient_op<Log1p>("log1p_gradient");
const OpDef kLog2Gradient = unary_gradient_op<Log2>("log2_gradient");
const OpDef kLog10Gradient = unary_gradient_op<Log10>("log10_gradient");
const OpDef kSqrtGradient = unary_gradient_op<Sqrt>("sqrt_gradient");
const OpDef kRsqrtGradient = unary_gradient_op<Rsqrt>("rsqrt_gradient");
const OpDef kReciprocalGradient = unary_gradient_op<Reciprocal>("reciprocal_gradient");
const OpDef kErfGradient = unary_gradient_op<Erf>("erf_gradient");

const OpDef kExp = unary_op_of_output<Exp, kExpGradient>("exp");
const OpDef kExpm1 = unary_op_of_output<Expm1, kExpm1Gradient>("expm1");
const OpDef kLog = unary_op_of_input<Log, kLogGradient>("log");
const OpDef kLog1p = unary_op_of_input<Log1p, kLog1pGradient>("log1p");
const OpDef kLog2 = unary_op_of_input<Log2, kLog2Gradient>("log2");
const OpDef kLog10 = unary_op_of_input<Log10, kLog10Gradient>("log10");
const OpDef kSqrt = unary_op_of_output<Sqrt, kSqrtGradient>("sqrt");
const OpDef kRsqrt = unary_op_of_output<Rsqrt, kRsqrtGradient>("rsqrt");
const OpDef kReciprocal = unary_op_of_output<Reciprocal, kReciprocalGradient>("reciprocal");
const OpDef kErf = unary_op_of_input<Erf, kErfGradient>("erf");

Tensor exp(const Tensor& x) { return apply(kExp, real(x)); }
Tensor expm1(const Tensor& x) { return apply(kExpm1, real(x)); }
Tensor log(const Tensor& x) { return apply(kLog, real(x)); }
Tensor log1p(const Tensor& x) { return apply(kLog1p, real(x)); }
Tensor log2(const Tensor& x) { return apply(kLog2, real(x)); }
Tensor log10(const Tensor& x) { return apply(kLog10, real(x)); }
Tensor sqrt(const Tensor& x) { return apply(kSqrt, real(x)); }
Tensor rsqrt(const Tensor& x) { return apply(kRsqrt, real(x)); }
Tensor reciprocal(const Tensor& x) { return apply(kReciprocal, real(x)); }
Tensor erf(const Tensor& x) { return apply(kErf, real(x)); }

}  // namespace nyala::ops
