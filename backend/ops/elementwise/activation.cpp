// A formula is a value and a slope, for numbers and, where it has a second derivative, for tensors; the
// templates make ops of them. Slopes that follow from the result keep the result (relu, sigmoid, tanh),
// others the input.
#include <cmath>
#include <numbers>

#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/unary_op.h>
#include <nyala/backend/ops/elementwise/activation.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/comparison.h>
#include <nyala/backend/ops/elementwise/exponential.h>
#include <nyala/backend/ops/elementwise/rounding.h>

namespace nyala::ops {

using namespace nyala::detail;

namespace {

struct Formula {
  using Parameters = NoDescriptor;
};

// Both branches exponentiate a number <= 0, so nothing overflows.
template <class T>
T sigmoid_of(T x) {
  const T e = std::exp(-std::abs(x));
  return x < 0 ? e / (1 + e) : 1 / (1 + e);
}

template <class T>
T softplus_of(T x) {
  return (x > 0 ? x : T(0)) + std::log1p(std::exp(-std::abs(x)));
}

// 0 * infinity would be NaN where a slope of 0 is meant.
template <class T>
T scaled(T slope, T x) {
  return slope == 0 && x == x ? T(0) : slope * x;
}

// The slope is told by y, so that a layer keeps one tensor only: y > 0 exactly where x > threshold >= 0. At
// the kinks it is Keras': of a leaky ReLU that of the left side, else 0.
struct Relu {
  using Parameters = ReluDescriptor;
  static constexpr bool kPiecewiseLinear = true;
  static constexpr bool kTakesIntegers = true;
  template <class T>
  static T value(T x, const Parameters& p) {
    using Compute = std::conditional_t<std::is_same_v<T, float>, float, double>;
    const Compute v = static_cast<Compute>(x), threshold = static_cast<Compute>(p.threshold);
    if (v > threshold)
      return static_cast<T>(v < static_cast<Compute>(p.max_value) ? v : static_cast<Compute>(p.max_value));
    return static_cast<T>(scaled(static_cast<Compute>(p.negative_slope), v - threshold));
  }
  template <class T>
  static T slope(T y, const Parameters& p) {
    if (y > 0) return static_cast<T>(std::isinf(p.max_value) || y < static_cast<T>(p.max_value));
    const bool is_leaky = std::isinf(p.max_value) && p.threshold == 0;
    return y == 0 && !is_leaky ? T(0) : static_cast<T>(p.negative_slope);
  }
};
/// Relu with a maximum, which Keras clips: at the maximum the slope is still 1, which only x tells. That of
/// relu6, an op of its own there, is 0.
struct ClippedRelu {
  using Parameters = ReluDescriptor;
  static constexpr bool kPiecewiseLinear = true;
  static constexpr bool kTakesIntegers = true;
  template <class T>
  static T value(T x, const Parameters& p) {
    return Relu::value(x, p);
  }
  template <class T>
  static T slope(T x, const Parameters& p) {
    const T threshold = static_cast<T>(p.threshold);
    if (x > threshold) return static_cast<T>(x <= static_cast<T>(p.max_value));
    return x == threshold ? T(0) : static_cast<T>(p.negative_slope);
  }
};
struct Sigmoid : Formula {
  static constexpr bool kSlopeTakesTensors = true;
  static auto value(auto x, Parameters) { return sigmoid_of(x); }
  static auto slope(auto y, Parameters) { return y * (1 - y); }
};
struct Tanh : Formula {
  static constexpr bool kSlopeTakesTensors = true;
  static auto value(auto x, Parameters) { return std::tanh(x); }
  static auto slope(auto y, Parameters) { return 1 - y * y; }
};
struct Elu {
  using Parameters = EluDescriptor;
  static Tensor slope_op(const Tensor& x, const Parameters& p) {
    return where(greater(x, zeros_like(x)), ones_like(x), exp(minimum(x, zeros_like(x))) * p.alpha);
  }
  template <class T>
  static T value(T x, const Parameters& p) {
    return x > 0 ? x : static_cast<T>(p.alpha) * std::expm1(x);
  }
  template <class T>
  static T slope(T x, const Parameters& p) {
    return x > 0 ? T(1) : static_cast<T>(p.alpha) * std::exp(x);
  }
};
struct Selu : Formula {
  static constexpr double kScale = 1.0507009873554804934193349852946;
  static constexpr double kScaledAlpha = kScale * 1.6732632423543772848170429916717;
  static Tensor slope_op(const Tensor& x, const Parameters&) {
    return where(less(x, zeros_like(x)), exp(minimum(x, zeros_like(x))) * kScaledAlpha,
                 ones_like(x) * kScale);
  }
  template <class T>
  static T value(T x, Parameters) {
    return x > 0 ? T(kScale) * x : T(kScaledAlpha) * std::expm1(x);
  }
  template <class T>
  static T slope(T x, Parameters) {
    return x < 0 ? T(kScaledAlpha) * std::exp(x) : T(kScale);
  }
};
struct Gelu : Formula {
  static Tensor slope_op(const Tensor& x, const Parameters&) {
    const Tensor density = exp(x * x * -0.5) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2);
    return (erf(x / std::numbers::sqrt2) + 1.0) * 0.5 + x * density;
  }
  template <class T>
  static T share(T x) {
    return T(0.5) * std::erfc(-x / std::numbers::sqrt2_v<T>);
  }
  template <class T>
  static T value(T x, Parameters) {
    return x * share(x);
  }
  template <class T>
  static T slope(T x, Parameters) {
    const T density = std::numbers::inv_sqrtpi_v<T> / std::numbers::sqrt2_v<T> * std::exp(T(-0.5) * x * x);
    return share(x) + x * density;
  }
};
struct GeluTanh : Formula {
  static constexpr double kRoot = 0.79788456080286535587989211986876;  // sqrt(2 / pi)
  static Tensor slope_op(const Tensor& x, const Parameters&) {
    const Tensor t = tanh((x + x * x * x * 0.044715) * kRoot);
    return (t + 1.0) * 0.5 + x * (1.0 - t * t) * (x * x * (3 * 0.044715) + 1.0) * (0.5 * kRoot);
  }
  template <class T>
  static T inner(T x) {
    return T(kRoot) * (x + T(0.044715) * x * x * x);
  }
  template <class T>
  static T value(T x, Parameters) {
    return T(0.5) * x * (1 + std::tanh(inner(x)));
  }
  template <class T>
  static T slope(T x, Parameters) {
    const T t = std::tanh(inner(x));
    return T(0.5) * (1 + t) + T(0.5) * x * (1 - t * t) * T(kRoot) * (1 + T(3 * 0.044715) * x * x);
  }
};
struct Silu : Formula {
  static Tensor slope_op(const Tensor& x, const Parameters&) {
    const Tensor s = sigmoid(x);
    return s * (1.0 + x * (1.0 - s));
  }
  static auto value(auto x, Parameters) { return x * sigmoid_of(x); }
  static auto slope(auto x, Parameters) {
    const auto s = sigmoid_of(x);
    return s * (1 + x * (1 - s));
  }
};
struct Softplus : Formula {
  static Tensor slope_op(const Tensor& x, const Parameters&) { return sigmoid(x); }
  static auto value(auto x, Parameters) { return softplus_of(x); }
  static auto slope(auto x, Parameters) { return sigmoid_of(x); }
};
struct Softsign : Formula {
  static Tensor slope_op(const Tensor& x, const Parameters&) { return reciprocal(square(absolute(x) + 1.0)); }
  static auto value(auto x, Parameters) { return x / (std::abs(x) + 1); }
  static auto slope(auto x, Parameters) {
    const auto d = std::abs(x) + 1;
    return 1 / (d * d);
  }
};
struct HardSigmoid : Formula {
  static constexpr bool kPiecewiseLinear = true;
  template <class T>
  static T value(T x, Parameters) {
    return x <= -3 ? T(0) : x >= 3 ? T(1) : x / 6 + T(0.5);
  }
  template <class T>
  static T slope(T x, Parameters) {
    return x > -3 && x < 3 ? T(1) / 6 : T(0);
  }
};
struct HardSilu : Formula {
  template <class T>
  static T value(T x, Parameters p) {
    return scaled(HardSigmoid::value(x, p), x);
  }
  template <class T>
  static T slope(T x, Parameters p) {
    return HardSigmoid::value(x, p) + scaled(HardSigmoid::slope(x, p), x);
  }
};
struct Mish : Formula {
  static Tensor slope_op(const Tensor& x, const Parameters&) {
    const Tensor t = tanh(softplus(x));
    return t + x * (1.0 - t * t) * sigmoid(x);
  }
  static auto value(auto x, Parameters) { return x * std::tanh(softplus_of(x)); }
  static auto slope(auto x, Parameters) {
    const auto t = std::tanh(softplus_of(x));
    return t + x * (1 - t * t) * sigmoid_of(x);
  }
};
struct LogSigmoid : Formula {
  static Tensor slope_op(const Tensor& x, const Parameters&) { return sigmoid(-x); }
  static auto value(auto x, Parameters) { return -softplus_of(-x); }
  static auto slope(auto x, Parameters) { return sigmoid_of(-x); }
};

using namespace detail;

void check_relu(const ReluDescriptor& p) {
  const auto check = [](double value, std::string_view name) {
    if (!(value >= 0))
      throw InvalidArgumentError("relu: expected " + std::string(name) + " >= 0, received " +
                                 number_text(value));
  };
  check(p.negative_slope, "negative_slope");
  check(p.max_value, "max_value");
  check(p.threshold, "threshold");
}

bool whole(double value) { return !std::isfinite(value) || value == std::trunc(value); }

}  // namespace

const OpDef kReluGradient = unary_gradient_op<Relu>("relu_gradient");
const OpDef kClippedReluGradient = unary_gradient_op<ClippedRelu>("clipped_relu_gradient");
const OpDef kSigmoidGradient = unary_gradient_op<Sigmoid>("sigmoid_gradient");
const OpDef kTanhGradient = unary_gradient_op<Tanh>("tanh_gradient");
const OpDef kEluGradient = unary_gradient_op<Elu>("elu_gradient");
const OpDef kSeluGradient = unary_gradient_op<Selu>("selu_gradient");
const OpDef kGeluGradient = unary_gradient_op<Gelu>("gelu_gradient");
const OpDef kGeluTanhGradient = unary_gradient_op<GeluTanh>("gelu_tanh_gradient");
const OpDef kSiluGradient = unary_gradient_op<Silu>("silu_gradient");
const OpDef kSoftplusGradient = unary_gradient_op<Softplus>("softplus_gradient");
const OpDef kSoftsignGradient = unary_gradient_op<Softsign>("softsign_gradient");
const OpDef kHardSigmoidGradient = unary_gradient_op<HardSigmoid>("hard_sigmoid_gradient");
const OpDef kHardSiluGradient = unary_gradient_op<HardSilu>("hard_silu_gradient");
const OpDef kMishGradient = unary_gradient_op<Mish>("mish_gradient");
const OpDef kLogSigmoidGradient = unary_gradient_op<LogSigmoid>("log_sigmoid_gradient");

const OpDef kRelu = unary_op_of_output<Relu, kReluGradient>("relu");
const OpDef kClippedRelu = unary_op_of_input<ClippedRelu, kClippedReluGradient>("clipped_relu");
const OpDef kSigmoid = unary_op_of_output<Sigmoid, kSigmoidGradient>("sigmoid");
const OpDef kTanh = unary_op_of_output<Tanh, kTanhGradient>("tanh");
const OpDef kElu = unary_op_of_input<Elu, kEluGradient>("elu");
const OpDef kSelu = unary_op_of_input<Selu, kSeluGradient>("selu");
const OpDef kGelu = unary_op_of_input<Gelu, kGeluGradient>("gelu");
const OpDef kGeluTanh = unary_op_of_input<GeluTanh, kGeluTanhGradient>("gelu_tanh");
const OpDef kSilu = unary_op_of_input<Silu, kSiluGradient>("silu");
const OpDef kSoftplus = unary_op_of_input<Softplus, kSoftplusGradient>("softplus");
const OpDef kSoftsign = unary_op_of_input<Softsign, kSoftsignGradient>("softsign");
const OpDef kHardSigmoid = unary_op_of_input<HardSigmoid, kHardSigmoidGradient>("hard_sigmoid");
const OpDef kHardSilu = unary_op_of_input<HardSilu, kHardSiluGradient>("hard_silu");
const OpDef kMish = unary_op_of_input<Mish, kMishGradient>("mish");
const OpDef kLogSigmoid = unary_op_of_input<LogSigmoid, kLogSigmoidGradient>("log_sigmoid");

Tensor relu(const Tensor& x, const ReluDescriptor& parameters) {
  check_relu(parameters);
  const bool stays =
      whole(parameters.negative_slope) && whole(parameters.max_value) && whole(parameters.threshold);
  const bool is_relu6 =
      parameters.max_value == 6 && parameters.negative_slope == 0 && parameters.threshold == 0;
  const OpDef& op = std::isinf(parameters.max_value) || is_relu6 ? kRelu : kClippedRelu;
  return apply(op, stays && x.dtype() != DType::bool_ ? x : real(x), parameters);
}

Tensor relu6(const Tensor& x) { return relu(x, {.max_value = 6.0}); }
Tensor leaky_relu(const Tensor& x, double negative_slope) {
  return relu(real(x), {.negative_slope = negative_slope});
}
Tensor elu(const Tensor& x, double alpha) { return apply(kElu, real(x), EluDescriptor{alpha}); }
Tensor gelu(const Tensor& x, bool approximate) { return apply(approximate ? kGeluTanh : kGelu, real(x)); }
Tensor sigmoid(const Tensor& x) { return apply(kSigmoid, real(x)); }
Tensor tanh(const Tensor& x) { return apply(kTanh, real(x)); }
Tensor selu(const Tensor& x) { return apply(kSelu, real(x)); }
Tensor silu(const Tensor& x) { return apply(kSilu, real(x)); }
Tensor softplus(const Tensor& x) { return apply(kSoftplus, real(x)); }
Tensor softsign(const Tensor& x) { return apply(kSoftsign, real(x)); }
Tensor hard_sigmoid(const Tensor& x) { return apply(kHardSigmoid, real(x)); }
Tensor hard_silu(const Tensor& x) { return apply(kHardSilu, real(x)); }
Tensor mish(const Tensor& x) { return apply(kMish, real(x)); }
Tensor log_sigmoid(const Tensor& x) { return apply(kLogSigmoid, real(x)); }
Tensor exponential(const Tensor& x) { return exp(x); }
Tensor linear(const Tensor& x) { return x; }

}  // namespace nyala::ops
