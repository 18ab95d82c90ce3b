#include <cmath>

#include <nyala/backend/ops/base/unary_op.h>
#include <nyala/backend/ops/elementwise/exponential.h>
#include <nyala/backend/ops/elementwise/trigonometric.h>

namespace nyala::ops {

using namespace nyala::detail;

namespace {

struct Formula {
  using Parameters = NoDescriptor;
};

struct Sin : Formula {
  static Tensor slope_op(const Tensor& x, const Parameters&) { return cos(x); }
  static auto value(auto x, Parameters) { return std::sin(x); }
  static auto slope(auto x, Parameters) { return std::cos(x); }
};
struct Cos : Formula {
  static Tensor slope_op(const Tensor& x, const Parameters&) { return -sin(x); }
  static auto value(auto x, Parameters) { return std::cos(x); }
  static auto slope(auto x, Parameters) { return -std::sin(x); }
};
struct Tan : Formula {
  static constexpr bool kSlopeTakesTensors = true;
  static auto value(auto x, Parameters) { return std::tan(x); }
  static auto slope(auto y, Parameters) { return 1 + y * y; }
};
struct Arcsin : Formula {
  static Tensor slope_op(const Tensor& x, const Parameters&) { return rsqrt(1.0 - x * x); }
  static auto value(auto x, Parameters) { return std::asin(x); }
  static auto slope(auto x, Parameters) { return 1 / std::sqrt(1 - x * x); }
};
struct Arccos : Formula {
  static Tensor slope_op(const Tensor& x, const Parameters&) { return -rsqrt(1.0 - x * x); }
  static auto value(auto x, Parameters) { return std::acos(x); }
  static auto slope(auto x, Parameters) { return -1 / std::sqrt(1 - x * x); }
};
struct Arctan : Formula {
  static constexpr bool kSlopeTakesTensors = true;
  static auto value(auto x, Parameters) { return std::atan(x); }
  static auto slope(auto x, Parameters) { return 1 / (1 + x * x); }
};
struct Sinh : Formula {
  static Tensor slope_op(const Tensor& x, const Parameters&) { return cosh(x); }
  static auto value(auto x, Parameters) { return std::sinh(x); }
  static auto slope(auto x, Parameters) { return std::cosh(x); }
};
struct Cosh : Formula {
  static Tensor slope_op(const Tensor& x, const Parameters&) { return sinh(x); }
  static auto value(auto x, Parameters) { return std::cosh(x); }
  static auto slope(auto x, Parameters) { return std::sinh(x); }
};
struct Arcsinh : Formula {
  static Tensor slope_op(const Tensor& x, const Parameters&) { return rsqrt(x * x + 1.0); }
  static auto value(auto x, Parameters) { return std::asinh(x); }
  static auto slope(auto x, Parameters) { return 1 / std::sqrt(x * x + 1); }
};
struct Arccosh : Formula {
  static Tensor slope_op(const Tensor& x, const Parameters&) { return rsqrt(x * x - 1.0); }
  static auto value(auto x, Parameters) { return std::acosh(x); }
  static auto slope(auto x, Parameters) { return 1 / std::sqrt(x * x - 1); }
};
struct Arctanh : Formula {
  static constexpr bool kSlopeTakesTensors = true;
  static auto value(auto x, Parameters) { return std::atanh(x); }
  static auto slope(auto x, Parameters) { return 1 / (1 - x * x); }
};

using namespace detail;

}  // namespace

const OpDef kSinGradient = unary_gradient_op<Sin>("sin_gradient");
const OpDef kCosGradient = unary_gradient_op<Cos>("cos_gradient");
const OpDef kTanGradient = unary_gradient_op<Tan>("tan_gradient");
const OpDef kArcsinGradient = unary_gradient_op<Arcsin>("arcsin_gradient");
const OpDef kArccosGradient = unary_gradient_op<Arccos>("arccos_gradient");
const OpDef kArctanGradient = unary_gradient_op<Arctan>("arctan_gradient");
const OpDef kSinhGradient = unary_gradient_op<Sinh>("sinh_gradient");
const OpDef kCoshGradient = unary_gradient_op<Cosh>("cosh_gradient");
const OpDef kArcsinhGradient = unary_gradient_op<Arcsinh>("arcsinh_gradient");
const OpDef kArccoshGradient = unary_gradient_op<Arccosh>("arccosh_gradient");
const OpDef kArctanhGradient = unary_gradient_op<Arctanh>("arctanh_gradient");

const OpDef kSin = unary_op_of_input<Sin, kSinGradient>("sin");
const OpDef kCos = unary_op_of_input<Cos, kCosGradient>("cos");
const OpDef kTan = unary_op_of_output<Tan, kTanGradient>("tan");
const OpDef kArcsin = unary_op_of_input<Arcsin, kArcsinGradient>("arcsin");
const OpDef kArccos = unary_op_of_input<Arccos, kArccosGradient>("arccos");
const OpDef kArctan = unary_op_of_input<Arctan, kArctanGradient>("arctan");
const OpDef kSinh = unary_op_of_input<Sinh, kSinhGradient>("sinh");
const OpDef kCosh = unary_op_of_input<Cosh, kCoshGradient>("cosh");
const OpDef kArcsinh = unary_op_of_input<Arcsinh, kArcsinhGradient>("arcsinh");
const OpDef kArccosh = unary_op_of_input<Arccosh, kArccoshGradient>("arccosh");
const OpDef kArctanh = unary_op_of_input<Arctanh, kArctanhGradient>("arctanh");

Tensor sin(const Tensor& x) { return apply(kSin, real(x)); }
Tensor cos(const Tensor& x) { return apply(kCos, real(x)); }
Tensor tan(const Tensor& x) { return apply(kTan, real(x)); }
Tensor arcsin(const Tensor& x) { return apply(kArcsin, real(x)); }
Tensor arccos(const Tensor& x) { return apply(kArccos, real(x)); }
Tensor arctan(const Tensor& x) { return apply(kArctan, real(x)); }
Tensor sinh(const Tensor& x) { return apply(kSinh, real(x)); }
Tensor cosh(const Tensor& x) { return apply(kCosh, real(x)); }
Tensor arcsinh(const Tensor& x) { return apply(kArcsinh, real(x)); }
Tensor arccosh(const Tensor& x) { return apply(kArccosh, real(x)); }
Tensor arctanh(const Tensor& x) { return apply(kArctanh, real(x)); }

}  // namespace nyala::ops
