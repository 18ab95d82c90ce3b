#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

#include <nyala/backend/ops/update/optimizer_updates.h>

// Everything here has internal linkage on purpose: the same loops are compiled several times, each for
// another instruction set, and the linker must not merge them.
namespace nyala::formulas {

namespace {

// Keras' optimizers on one element: the numbers of a step, which are the scalars that the formula reads, all
// of type T and in this order; and the function that changes `w` and the slots by a gradient that is ready.

/// w -= lr g.
template <class T>
struct Sgd {
  static constexpr std::string_view kName = "sgd_update";
  static constexpr int kSlots = 0;
  T rate;
  void operator()(T g, T& w) const { w -= g * rate; }
};

/// m = momentum m - lr g; w += m, or with Nesterov's w += momentum m - lr g.
template <class T, bool nesterov>
struct SgdMomentum {
  static constexpr std::string_view kName = nesterov ? "sgd_nesterov_update" : "sgd_momentum_update";
  static constexpr int kSlots = 1;
  T rate, momentum;
  void operator()(T g, T& w, T& m) const {
    const T step = g * rate;
    m = m * momentum - step;
    w += nesterov ? m * momentum - step : m;
  }
};

/// m += (g - m) (1 - beta_1); v += (g^2 - v) (1 - beta_2); w -= alpha m / (sqrt(v) + epsilon).
template <class T>
struct Adam {
  static constexpr std::string_view kName = "adam_update";
  static constexpr int kSlots = 2;
  T alpha, rest_1, rest_2, epsilon;
  void operator()(T g, T& w, T& m, T& v) const {
    m += (g - m) * rest_1;
    v += (g * g - v) * rest_2;
    w -= m * alpha / (std::sqrt(v) + epsilon);
  }
};

/// Adam with the largest v so far.
template <class T>
struct AdamAmsgrad : Adam<T> {
  static constexpr std::string_view kName = "adam_amsgrad_update";
  static constexpr int kSlots = 3;
  void operator()(T g, T& w, T& m, T& v, T& largest) const {
    m += (g - m) * this->rest_1;
    v += (g * g - v) * this->rest_2;
    largest = v > largest || v != v ? v : largest;
    w -= m * this->alpha / (std::sqrt(largest) + this->epsilon);
  }
};

/// v = rho v + (1 - rho) g^2; step = lr g / sqrt(v + epsilon), centered lr g / sqrt(v - a^2 + epsilon) with
/// a = rho a + (1 - rho) g; with momentum b = momentum b + step; w -= b, else w -= step. Slots v (, b) (, a).
template <class T>
struct RmspropNumbers {
  T rate, rho, rest, epsilon, momentum;
  T step(T g, T& v) const {
    v = rho * v + rest * (g * g);
    return rate * g / std::sqrt(v + epsilon);
  }
  T centered_step(T g, T& v, T& a) const {
    v = rho * v + rest * (g * g);
    a = rho * a + rest * g;
    return rate * g / std::sqrt(v - a * a + epsilon);
  }
};

template <class T>
struct Rmsprop : RmspropNumbers<T> {
  static constexpr std::string_view kName = "rmsprop_update";
  static constexpr int kSlots = 1;
  void operator()(T g, T& w, T& v) const { w -= this->step(g, v); }
};

template <class T>
struct RmspropMomentum : RmspropNumbers<T> {
  static constexpr std::string_view kName = "rmsprop_momentum_update";
  static constexpr int kSlots = 2;
  void operator()(T g, T& w, T& v, T& b) const {
    b = this->momentum * b + this->step(g, v);
    w -= b;
  }
};

template <class T>
struct RmspropCentered : RmspropNumbers<T> {
  static constexpr std::string_view kName = "rmsprop_centered_update";
  static constexpr int kSlots = 2;
  void operator()(T g, T& w, T& v, T& a) const { w -= this->centered_step(g, v, a); }
};

template <class T>
struct RmspropMomentumCentered : RmspropNumbers<T> {
  static constexpr std::string_view kName = "rmsprop_momentum_centered_update";
  static constexpr int kSlots = 3;
  void operator()(T g, T& w, T& v, T& b, T& a) const {
    b = this->momentum * b + this->centered_step(g, v, a);
    w -= b;
  }
};

/// a += g^2; w -= lr g / sqrt(a + epsilon).
template <class T>
struct Adagrad {
  static constexpr std::string_view kName = "adagrad_update";
  static constexpr int kSlots = 1;
  T rate, epsilon;
  void operator()(T g, T& w, T& a) const {
    a += g * g;
    w -= rate * g / std::sqrt(a + epsilon);
  }
};

/// a = rho a + (1 - rho) g^2; step = g sqrt(d + epsilon) / sqrt(a + epsilon); d = rho d + (1 - rho) step^2;
/// w -= lr step.
template <class T>
struct Adadelta {
  static constexpr std::string_view kName = "adadelta_update";
  static constexpr int kSlots = 2;
  T rate, rho, rest, epsilon;
  void operator()(T g, T& w, T& a, T& d) const {
    a = rho * a + rest * (g * g);
    const T step = std::sqrt(d + epsilon) * g / std::sqrt(a + epsilon);
    d = rho * d + rest * (step * step);
    w -= rate * step;
  }
};

/// m += (g - m) (1 - beta_1); u = max(beta_2 u, |g|); w -= lr m / (correction (u + epsilon)).
template <class T>
struct Adamax {
  static constexpr std::string_view kName = "adamax_update";
  static constexpr int kSlots = 2;
  T rate, rest_1, beta_2, correction, epsilon;
  void operator()(T g, T& w, T& m, T& u) const {
    m += (g - m) * rest_1;
    const T decayed = beta_2 * u, size = std::abs(g);
    u = decayed > size || decayed != decayed ? decayed : size;
    w -= rate * m / (correction * (u + epsilon));
  }
};

/// m += (g - m) (1 - beta_1); v += (g^2 - v) (1 - beta_2);
/// w -= lr (next m / rest_next + (1 - now) g / rest) / (sqrt(v / correction) + epsilon).
template <class T>
struct Nadam {
  static constexpr std::string_view kName = "nadam_update";
  static constexpr int kSlots = 2;
  T rate, rest_1, rest_2, next, rest_next, rest_now, rest, correction, epsilon;
  void operator()(T g, T& w, T& m, T& v) const {
    m += (g - m) * rest_1;
    v += (g * g - v) * rest_2;
    const T ahead = next * m / rest_next + rest_now * g / rest;
    w -= ahead * rate / (std::sqrt(v / correction) + epsilon);
  }
};

/// n' = n + g^2; z += g + 2 shrinkage w - (n'^p - n^p) / lr w; w = (clip(z, -l1, l1) - z) / (n'^p / lr + 2
/// l2); n = n'.
template <class T>
struct Ftrl {
  static constexpr std::string_view kName = "ftrl_update";
  static constexpr int kSlots = 2;
  T rate, power, l1, l2, shrinkage;
  void operator()(T g, T& w, T& n, T& z) const {
    const T grown = n + g * g, root = std::pow(grown, power);
    z += g + T(2) * shrinkage * w - (root - std::pow(n, power)) / rate * w;
    const T clipped = z < -l1 ? -l1 : z > l1 ? l1 : z;
    w = (clipped - z) / (root / rate + T(2) * l2);
    n = grown;
  }
};

/// w -= lr sign(beta_1 m + (1 - beta_1) g); m = beta_2 m + (1 - beta_2) g.
template <class T>
struct Lion {
  static constexpr std::string_view kName = "lion_update";
  static constexpr int kSlots = 1;
  T rate, beta_1, rest_1, beta_2, rest_2;
  void operator()(T g, T& w, T& m) const {
    const T ahead = m * beta_1 + g * rest_1;
    w -= ahead > T(0) ? rate : ahead < T(0) ? -rate : ahead;  // NaN stays
    m = m * beta_2 + g * rest_2;
  }
};

/// v += (g^2 - v) (1 - beta_2); x = (w - (1 - beta_1) z) / beta_1; z -= lr g / (sqrt(v / correction) +
/// epsilon); x += (z - x) share; w = (1 - beta_1) z + beta_1 x.
template <class T>
struct ScheduleFreeAdamw {
  static constexpr std::string_view kName = "schedule_free_adamw_update";
  static constexpr int kSlots = 2;
  T rate, beta_1, rest_2, correction, epsilon, share;
  void operator()(T g, T& w, T& z, T& v) const {
    v += (g * g - v) * rest_2;
    const T x = (w - (T(1) - beta_1) * z) / beta_1;
    z -= rate * g / (std::sqrt(v / correction) + epsilon);
    w = (T(1) - beta_1) * z + beta_1 * ((T(1) - share) * x + share * z);
  }
};

template <class T>
using PlainMomentum = SgdMomentum<T, false>;
template <class T>
using NesterovMomentum = SgdMomentum<T, true>;

template <template <class> class... Formula>
struct FormulaList {
  static constexpr size_t kSize = sizeof...(Formula);
};

/// Every formula: each becomes an op, and a loop for each instruction set.
using Formulas = FormulaList<Sgd, PlainMomentum, NesterovMomentum, Adam, AdamAmsgrad, Rmsprop,
                             RmspropMomentum, RmspropCentered, RmspropMomentumCentered, Adagrad, Adadelta,
                             Adamax, Nadam, Ftrl, Lion, ScheduleFreeAdamw>;

template <template <class> class Wanted, template <class> class... Formula>
constexpr size_t place_of(FormulaList<Formula...>) {
  constexpr bool is_wanted[] = {std::is_same_v<Wanted<float>, Formula<float>>...};
  size_t place = 0;
  while (!is_wanted[place]) ++place;  // does not compile for one that is not listed
  return place;
}

/// The formula with the numbers of a step.
template <class T, class Formula>
Formula with_numbers(const double* scalars) {
  constexpr size_t kCount = sizeof(Formula) / sizeof(T);
  struct {
    T of[kCount];
  } numbers;
  for (size_t i = 0; i < kCount; ++i) numbers.of[i] = static_cast<T>(scalars[i]);
  return std::bit_cast<Formula>(numbers);
}

/// What is done before the formula.
template <class T>
struct Preparation {
  T factor, limit, decay;
  explicit Preparation(const KernelCall& call) {
    const auto& d = call.descriptor<ops::UpdateDescriptor>();
    factor = static_cast<T>(*call.in<double>(1));
    limit = static_cast<T>(d.clip_value);
    decay = d.decay != 0.0 ? static_cast<T>(d.decay * call.in<double>(2)[ops::kDecayScalar]) : T(0);
  }
  T gradient(T raw) const {
    const T g = raw * factor;
    return g < -limit ? -limit : g > limit ? limit : g;  // NaN stays
  }
  T weight(T w) const { return w - w * decay; }
  bool only_scales() const { return limit == std::numeric_limits<T>::infinity() && decay == T(0); }
};

/// The same where nothing is clipped and no weight decays.
template <class T>
struct Scaling {
  T factor;
  T gradient(T raw) const { return raw * factor; }
  T weight(T w) const { return w; }
};

/// Elements [begin, end) of one update, with `prepare` in front.
template <class T, class Formula, class Prepare>
void update_prepared(const KernelCall& call, int64_t begin, int64_t end, const Prepare& prepare) {
  const auto formula = with_numbers<T, Formula>(call.in<double>(2) + ops::kFirstFormulaScalar);
  const T* __restrict gradient = call.in<T>(0);
  T* __restrict weight = call.out<T>(0);
  if constexpr (Formula::kSlots == 0) {
    for (int64_t i = begin; i < end; ++i) {
      T w = prepare.weight(weight[i]);
      formula(prepare.gradient(gradient[i]), w);
      weight[i] = w;
    }
  } else if constexpr (Formula::kSlots == 1) {
    T* __restrict first = call.out<T>(1);
    for (int64_t i = begin; i < end; ++i) {
      T w = prepare.weight(weight[i]), a = first[i];
      formula(prepare.gradient(gradient[i]), w, a);
      weight[i] = w, first[i] = a;
    }
  } else if constexpr (Formula::kSlots == 2) {
    T* __restrict first = call.out<T>(1), * __restrict second = call.out<T>(2);
    for (int64_t i = begin; i < end; ++i) {
      T w = prepare.weight(weight[i]), a = first[i], b = second[i];
      formula(prepare.gradient(gradient[i]), w, a, b);
      weight[i] = w, first[i] = a, second[i] = b;
    }
  } else {
    T* __restrict first = call.out<T>(1);
    T* __restrict second = call.out<T>(2);
    T* __restrict third = call.out<T>(3);
    for (int64_t i = begin; i < end; ++i) {
      T w = prepare.weight(weight[i]), a = first[i], b = second[i], c = third[i];
      formula(prepare.gradient(gradient[i]), w, a, b, c);
      weight[i] = w, first[i] = a, second[i] = b, third[i] = c;
    }
  }
}

/// Elements [begin, end) of one update.
template <class T, class Formula>
void update_elements(const KernelCall& call, int64_t begin, int64_t end) {
  const Preparation<T> prepare(call);
  if (prepare.only_scales()) return update_prepared<T, Formula>(call, begin, end, Scaling<T>{prepare.factor});
  update_prepared<T, Formula>(call, begin, end, prepare);
}

template <class T>
void average_elements(const KernelCall& call, int64_t begin, int64_t end) {
  const T momentum = static_cast<T>(call.in<double>(1)[ops::kAverageScalar]), rest = T(1) - momentum;
  const T* __restrict weight = call.in<T>(0);
  T* __restrict average = call.out<T>(0);
  for (int64_t i = begin; i < end; ++i) average[i] = momentum * average[i] + rest * weight[i];
}

/// The sum of f(x) of `count` numbers, in sixteen lanes that are added in their order.
template <class T, class F>
double sum_in_lanes(const T* x, int64_t count, F f) {
  constexpr int64_t kLanes = 16;
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += f(static_cast<double>(x[i + lane]));
  for (; i < count; ++i) lanes[i % kLanes] += f(static_cast<double>(x[i]));
  double sum = 0.0;
  for (double lane : lanes) sum += lane;
  return sum;
}

/// One partial sum of at most ops::kNormChunk squares.
template <class T>
double squared_sum(const T* x, int64_t count) {
  return sum_in_lanes(x, count, [](double value) { return value * value; });
}

/// Partial sums [begin, end).
template <class T>
void squared_sum_chunks(const KernelCall& call, int64_t begin, int64_t end) {
  const int64_t count = call.input(0).num_elements();
  for (int64_t chunk = begin; chunk < end; ++chunk) {
    const int64_t first = chunk * ops::kNormChunk, left = count - first;
    call.out<double>(0)[chunk] =
        squared_sum(call.in<T>(0) + first, left < ops::kNormChunk ? left : ops::kNormChunk);
  }
}

}  // namespace

}  // namespace nyala::formulas

namespace nyala::ops::detail {

/// The ops of formulas::Formulas, in that order.
extern const std::array<OpDef, formulas::Formulas::kSize> kFormulaUpdates;

namespace {

/// The op of a formula: update_op<formulas::Lion>().
template <template <class> class Formula>
constexpr const OpDef& update_op() {
  return kFormulaUpdates[formulas::place_of<Formula>(formulas::Formulas())];
}

}  // namespace

}  // namespace nyala::ops::detail
