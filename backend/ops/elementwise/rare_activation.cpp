// Formulas of keras.ops with their slopes. Sparsemax (Martins and Astudillo 2016) sorts a row and finds how
// many of its largest entries are above the offset; the offset itself is Keras', which adds up the cumulated
// sums of the support where the paper takes the last one.
#include <nyala/backend/ops/elementwise/rare_activation.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/unary_op.h>
#include <nyala/backend/ops/elementwise/activation.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/comparison.h>
#include <nyala/backend/ops/elementwise/exponential.h>
#include <nyala/backend/ops/shape/slice.h>
#include <nyala/backend/ops/shape/transpose.h>

namespace nyala::ops {

using namespace nyala::detail;

namespace {

struct Celu {
  using Parameters = CeluDescriptor;
  static Tensor slope_op(const Tensor& x, const Parameters& p) {
    return where(greater(x, zeros_like(x)), ones_like(x), exp(minimum(x, zeros_like(x)) / p.alpha));
  }
  template <class T>
  static T value(T x, const Parameters& p) {
    const T alpha = static_cast<T>(p.alpha);
    return x > 0 ? x : alpha * std::expm1(x / alpha);
  }
  template <class T>
  static T slope(T x, const Parameters& p) {
    return x > 0 ? T(1) : std::exp(x / static_cast<T>(p.alpha));
  }
};
struct HardTanh {
  using Parameters = NoDescriptor;
  static constexpr bool kPiecewiseLinear = true;
  template <class T>
  static T value(T x, Parameters) {
    return x < -1 ? T(-1) : x > 1 ? T(1) : x;
  }
  template <class T>
  static T slope(T x, Parameters) {
    return x < -1 || x > 1 ? T(0) : T(1);
  }
};
struct TanhShrink {
  using Parameters = NoDescriptor;
  static Tensor slope_op(const Tensor& x, const Parameters&) {
    const Tensor t = tanh(x);
    return t * t;
  }
  static auto value(auto x, Parameters) { return x - std::tanh(x); }
  static auto slope(auto x, Parameters) {
    const auto t = std::tanh(x);
    return t * t;
  }
};
struct SoftShrink {
  using Parameters = ThresholdDescriptor;
  static constexpr bool kPiecewiseLinear = true;
  template <class T>
  static T value(T x, const Parameters& p) {
    const T threshold = static_cast<T>(p.threshold);
    return x > threshold ? x - threshold : x < -threshold ? x + threshold : T(0);
  }
  template <class T>
  static T slope(T x, const Parameters& p) {
    return std::abs(x) > static_cast<T>(p.threshold) ? T(1) : T(0);
  }
};
struct HardShrink {
  using Parameters = ThresholdDescriptor;
  static constexpr bool kPiecewiseLinear = true;
  template <class T>
  static T value(T x, const Parameters& p) {
    return std::abs(x) > static_cast<T>(p.threshold) ? x : T(0);
  }
  template <class T>
  static T slope(T x, const Parameters& p) {
    return std::abs(x) > static_cast<T>(p.threshold) ? T(1) : T(0);
  }
};
struct Threshold {
  using Parameters = ThresholdDescriptor;
  static constexpr bool kPiecewiseLinear = true;
  template <class T>
  static T value(T x, const Parameters& p) {
    return x > static_cast<T>(p.threshold) ? x : static_cast<T>(p.default_value);
  }
  template <class T>
  static T slope(T x, const Parameters& p) {
    return x > static_cast<T>(p.threshold) ? T(1) : T(0);
  }
};
struct Squareplus {
  using Parameters = SquareplusDescriptor;
  static Tensor slope_op(const Tensor& x, const Parameters& p) { return (x / sqrt(x * x + p.b) + 1.0) * 0.5; }
  template <class T>
  static T value(T x, const Parameters& p) {
    return (x + std::sqrt(x * x + static_cast<T>(p.b))) / 2;
  }
  template <class T>
  static T slope(T x, const Parameters& p) {
    return (1 + x / std::sqrt(x * x + static_cast<T>(p.b))) / 2;
  }
};
struct SparsePlus {
  using Parameters = NoDescriptor;
  static Tensor slope_op(const Tensor& x, const Parameters&) {
    return maximum(minimum((x + 1.0) * 0.5, ones_like(x)), zeros_like(x));
  }
  template <class T>
  static T value(T x, Parameters) {
    return x <= -1 ? T(0) : x < 1 ? (x + 1) * (x + 1) / 4 : x;
  }
  template <class T>
  static T slope(T x, Parameters) {
    return x <= -1 ? T(0) : x < 1 ? (x + 1) / 2 : T(1);
  }
};
struct SparseSigmoid {
  using Parameters = NoDescriptor;
  static constexpr bool kPiecewiseLinear = true;
  template <class T>
  static T value(T x, Parameters) {
    return x <= -1 ? T(0) : x >= 1 ? T(1) : (x + 1) / 2;
  }
  template <class T>
  static T slope(T x, Parameters) {
    return x > -1 && x < 1 ? T(0.5) : T(0);
  }
};

void infer_sparsemax(InferContext& c) {
  if (c.shape(0).rank() < 1) c.fail("expected at least one axis, received a scalar");
  if (!is_floating(c.dtype(0)))
    c.fail("expected a floating dtype, received " + std::string(name_of(c.dtype(0))));
  c.output(0, c.shape(0), c.dtype(0));
}

/// A row's entries from the largest on, as far as they are in the support, and what is subtracted from all:
/// NaN where one is NaN or infinite (above).
template <class T>
class SupportOfRow {
 public:
  SupportOfRow(const T* x, int64_t size) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (!std::all_of(x, x + size, [](T value) { return static_cast<double>(value) < kInfinity; })) return;
    order_.resize(static_cast<size_t>(size));
    std::iota(order_.begin(), order_.end(), int64_t{0});
    std::stable_sort(order_.begin(), order_.end(), [x](int64_t a, int64_t b) { return x[a] > x[b]; });
    double sum = 0.0, sums = 0.0;
    size_t count = 0;
    for (; count < order_.size(); ++count) {
      const double value = static_cast<double>(x[order_[count]]), next = sum + value;
      if (!(value - (next - 1.0) / static_cast<double>(count + 1) > 0.0)) break;
      sum = next;
      sums += sum;
    }
    order_.resize(count);
    offset_ = (sums - 1.0) / static_cast<double>(count);
  }
  double offset() const { return offset_; }
  const std::vector<int64_t>& entries() const { return order_; }

 private:
  std::vector<int64_t> order_;
  double offset_ = std::numeric_limits<double>::quiet_NaN();
};

/// Calls body(offset of the first element, size) for each row of the last axis.
template <class Body>
void for_each_row(const Tensor& x, Body&& body) {
  const int64_t size = x.shape().back();
  for (int64_t first = 0; first < x.num_elements(); first += size) body(first, size);
}

void sparsemax_reference(const KernelCall& call) {
  dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    for_each_row(call.input(0), [&](int64_t first, int64_t size) {
      const T* x = call.in<T>(0) + first;
      const double offset = SupportOfRow<T>(x, size).offset();
      for (int64_t i = 0; i < size; ++i) {
        const double above = static_cast<double>(x[i]) - offset;
        call.out<T>(0)[first + i] = static_cast<T>(above < 0.0 ? 0.0 : above);  // NaN stays
      }
    });
  });
}

void infer_sparsemax_gradient(InferContext& c) { c.output(0, c.shape(0), c.dtype(0)); }

void sparsemax_gradient_reference(const KernelCall& call) {
  dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    for_each_row(call.input(0), [&](int64_t first, int64_t size) {
      const T* x = call.in<T>(0) + first;
      const T* dy = call.in<T>(1) + first;
      T* dx = call.out<T>(0) + first;
      const SupportOfRow<T> support(x, size);
      double sum = 0.0;
      for (int64_t i = 0; i < size; ++i) {
        dx[i] = static_cast<double>(x[i]) > support.offset() ? dy[i] : T(0);
        sum += static_cast<double>(dx[i]);
      }
      // Entry j of the support stands in count - j of the sums that the offset is made of.
      const double count = static_cast<double>(support.entries().size());
      for (size_t j = 0; j < support.entries().size(); ++j)
        dx[support.entries()[j]] -= static_cast<T>(sum * (count - static_cast<double>(j)) / count);
    });
  });
}

void sparsemax_gradient(GradContext& c) {
  c.emit(0, kSparsemaxGradient, NoDescriptor{}, {&c.input(0), &c.grad()});
}

using namespace detail;

}  // namespace

const OpDef kCeluGradient = unary_gradient_op<Celu>("celu_gradient");
const OpDef kHardTanhGradient = unary_gradient_op<HardTanh>("hard_tanh_gradient");
const OpDef kTanhShrinkGradient = unary_gradient_op<TanhShrink>("tanh_shrink_gradient");
const OpDef kSoftShrinkGradient = unary_gradient_op<SoftShrink>("soft_shrink_gradient");
const OpDef kHardShrinkGradient = unary_gradient_op<HardShrink>("hard_shrink_gradient");
const OpDef kThresholdGradient = unary_gradient_op<Threshold>("threshold_gradient");
const OpDef kSquareplusGradient = unary_gradient_op<Squareplus>("squareplus_gradient");
const OpDef kSparsePlusGradient = unary_gradient_op<SparsePlus>("sparse_plus_gradient");
const OpDef kSparseSigmoidGradient = unary_gradient_op<SparseSigmoid>("sparse_sigmoid_gradient");

const OpDef kCelu = unary_op_of_input<Celu, kCeluGradient>("celu");
const OpDef kHardTanh = unary_op_of_input<HardTanh, kHardTanhGradient>("hard_tanh");
const OpDef kTanhShrink = unary_op_of_input<TanhShrink, kTanhShrinkGradient>("tanh_shrink");
const OpDef kSoftShrink = unary_op_of_input<SoftShrink, kSoftShrinkGradient>("soft_shrink");
const OpDef kHardShrink = unary_op_of_input<HardShrink, kHardShrinkGradient>("hard_shrink");
const OpDef kThreshold = unary_op_of_input<Threshold, kThresholdGradient>("threshold");
const OpDef kSquareplus = unary_op_of_input<Squareplus, kSquareplusGradient>("squareplus");
const OpDef kSparsePlus = unary_op_of_input<SparsePlus, kSparsePlusGradient>("sparse_plus");
const OpDef kSparseSigmoid = unary_op_of_input<SparseSigmoid, kSparseSigmoidGradient>("sparse_sigmoid");
const OpDef kSparsemax = {.name = "sparsemax",
                          .infer = infer_sparsemax,
                          .gradient = sparsemax_gradient,
                          .keep_inputs = keep(0),
                          .reference = sparsemax_reference};
const OpDef kSparsemaxGradient = {.name = "sparsemax_gradient",
                                  .infer = infer_sparsemax_gradient,
                                  .reference = sparsemax_gradient_reference};

Tensor celu(const Tensor& x, double alpha) { return apply(kCelu, real(x), CeluDescriptor{alpha}); }
Tensor hard_tanh(const Tensor& x) { return apply(kHardTanh, real(x)); }
Tensor tanh_shrink(const Tensor& x) { return apply(kTanhShrink, real(x)); }
Tensor soft_shrink(const Tensor& x, double threshold) {
  return apply(kSoftShrink, real(x), ThresholdDescriptor{threshold});
}
Tensor hard_shrink(const Tensor& x, double threshold) {
  return apply(kHardShrink, real(x), ThresholdDescriptor{threshold});
}
Tensor threshold(const Tensor& x, double threshold, double default_value) {
  return apply(kThreshold, real(x), ThresholdDescriptor{threshold, default_value});
}
Tensor squareplus(const Tensor& x, double b) { return apply(kSquareplus, real(x), SquareplusDescriptor{b}); }
Tensor sparse_plus(const Tensor& x) { return apply(kSparsePlus, real(x)); }
Tensor sparse_sigmoid(const Tensor& x) { return apply(kSparseSigmoid, real(x)); }

Tensor glu(const Tensor& x, int axis) {
  const Tensors halves = split(real(x), 2, axis);
  return halves[0] * sigmoid(halves[1]);
}

Tensor sparsemax(const Tensor& x, int axis) {
  const Tensor values = real(x);
  const int position = values.shape().normalize_axis(axis);
  if (position == values.rank() - 1) return apply(kSparsemax, values);
  return moveaxis(apply(kSparsemax, moveaxis(values, position, -1)), -1, position);
}

}  // namespace nyala::ops
