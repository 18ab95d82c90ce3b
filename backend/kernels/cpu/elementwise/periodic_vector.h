#pragma once

#include <nyala/backend/kernels/cpu/base/vector_lanes.h>
#include <nyala/backend/kernels/cpu/elementwise/periodic_loops.h>

/// The loops of PeriodicLoops as templates of the vector's bytes and the vectors in a period (0: counted at
/// run time). See vector_lanes.h for what may be used here. Masked<kBytes> comes from the including file.
namespace nyala::vec {

template <int kBytes>
struct Masked;

template <int kBytes>
struct Whole {
  using F = typename Lanes<kBytes>::F;
  static F load(const float* p) { return Lanes<kBytes>::load(p); }
  static void store(float* p, F v) { Lanes<kBytes>::store(p, v); }
  static F keep(F v) { return v; }
};

/// The sums of a period, in registers where their number is known.
template <int kBytes, int kVectors>
struct Sums {
  static constexpr int64_t kLanes = Lanes<kBytes>::kCount;
  static constexpr int64_t kSize = kVectors > 0 ? kVectors : PeriodicLoops::kMaxPeriod / kLanes;
  typename Lanes<kBytes>::F vectors[kSize];

  explicit Sums(int64_t count) {
    for (int64_t v = 0; v < (kVectors > 0 ? kVectors : count); ++v) vectors[v] = typename Lanes<kBytes>::F{};
  }
  void store(float* p, int64_t count) const {
    for (int64_t v = 0; v < (kVectors > 0 ? kVectors : count); ++v)
      Lanes<kBytes>::store(p + v * kLanes, vectors[v]);
  }
};

/// Calls body(part, v, v * lanes, i): vector v of the period at floats i, of which `part` reads and writes
/// what there is.
template <int kBytes, int kVectors, class Body>
[[gnu::always_inline]] inline void for_each_vector(PeriodicLoops::Run run, Body&& body) {
  constexpr int64_t kLanes = Lanes<kBytes>::kCount;
  const int64_t vectors = kVectors > 0 ? kVectors : run.period / kLanes;
  int64_t i = 0;
  for (; i + run.period <= run.count; i += run.period) {
    if constexpr (kVectors > 0) {
#pragma GCC unroll 8
      for (int64_t v = 0; v < kVectors; ++v) body(Whole<kBytes>{}, v, v * kLanes, i + v * kLanes);
    } else {
      for (int64_t v = 0; v < vectors; ++v) body(Whole<kBytes>{}, v, v * kLanes, i + v * kLanes);
    }
  }
  for (int64_t v = 0; i < run.count; ++v, i += kLanes) {
    const int64_t left = run.count - i;
    if (left >= kLanes)
      body(Whole<kBytes>{}, v, v * kLanes, i);
    else
      body(Masked<kBytes>(left), v, v * kLanes, i);
  }
}

/// What follows an affine function.
enum class Clip { none, relu, relu6 };

template <int kBytes, int kVectors>
struct Periodic {
  using L = Lanes<kBytes>;
  using F = typename L::F;
  using Run = PeriodicLoops::Run;
  using Gradient = PeriodicLoops::Gradient;

  static void sums(Run run, const float* x, float* out) {
    Sums<kBytes, kVectors> sums(run.period / L::kCount);
    for_each_vector<kBytes, kVectors>(
        run, [&](auto part, int64_t v, int64_t, int64_t i) { sums.vectors[v] += part.load(x + i); });
    sums.store(out, run.period / L::kCount);
  }

  static void square_sums(Run run, const float* x, const float* mean, float* out) {
    Sums<kBytes, kVectors> sums(run.period / L::kCount);
    for_each_vector<kBytes, kVectors>(run, [&](auto part, int64_t v, int64_t p, int64_t i) {
      const F distance = part.load(x + i) - L::load(mean + p);
      sums.vectors[v] += part.keep(distance * distance);
    });
    sums.store(out, run.period / L::kCount);
  }

  template <Clip kClip>
  static void affine(Run run, const float* x, const float* scale, const float* offset, float* y) {
    for_each_vector<kBytes, kVectors>(run, [&](auto part, int64_t, int64_t p, int64_t i) {
      F z = part.load(x + i) * L::load(scale + p) + L::load(offset + p);
      if constexpr (kClip != Clip::none) z = L::choose(z <= 0.0f, F{}, z);
      if constexpr (kClip == Clip::relu6) z = L::choose(z >= 6.0f, F{} + 6.0f, z);
      part.store(y + i, z);
    });
  }

  template <Clip kClip>
  [[gnu::always_inline]] static F passed(const Gradient& in, F dy, F x, int64_t p) {
    if constexpr (kClip == Clip::none) return dy;
    const F z = x * L::load(in.scale + p) + L::load(in.offset + p);
    if constexpr (kClip == Clip::relu6) dy = L::choose(z < 6.0f, dy, F{});
    return L::choose(z > 0.0f, dy, F{});
  }

  template <Clip kClip>
  static void gradient_sums(Run run, const Gradient& in, float* out, float* products_out) {
    Sums<kBytes, kVectors> sums(run.period / L::kCount), products(run.period / L::kCount);
    for_each_vector<kBytes, kVectors>(run, [&](auto part, int64_t v, int64_t p, int64_t i) {
      const F x = part.load(in.x + i), g = passed<kClip>(in, part.load(in.dy + i), x, p);
      sums.vectors[v] += g;
      products.vectors[v] += g * (x - L::load(in.mean + p));
    });
    sums.store(out, run.period / L::kCount);
    products.store(products_out, run.period / L::kCount);
  }

  template <Clip kClip>
  static void gradient_input(Run run, const Gradient& in, const float* by_x, const float* constant,
                             float* dx) {
    for_each_vector<kBytes, kVectors>(run, [&](auto part, int64_t, int64_t p, int64_t i) {
      const F x = part.load(in.x + i), g = passed<kClip>(in, part.load(in.dy + i), x, p);
      part.store(dx + i, g * L::load(in.scale + p) + (x * L::load(by_x + p) + L::load(constant + p)));
    });
  }

  struct Relu {
    static F of(F dy, F y) { return L::choose(y > 0.0f, dy, F{}); }
  };
  struct Relu6 {
    static F of(F dy, F y) { return L::choose(y < 6.0f, Relu::of(dy, y), F{}); }
  };
  struct Sigmoid {
    static F of(F dy, F y) { return dy * (y * (1.0f - y)); }
  };
  struct Tanh {
    static F of(F dy, F y) { return dy * (1.0f - y * y); }
  };

  template <class Formula>
  static void activation_backward(Run run, const float* dy, const float* y, float* dz, float* out) {
    Sums<kBytes, kVectors> sums(run.period / L::kCount);
    for_each_vector<kBytes, kVectors>(run, [&](auto part, int64_t v, int64_t, int64_t i) {
      const F slope = Formula::of(part.load(dy + i), part.load(y + i));
      part.store(dz + i, slope);
      sums.vectors[v] += slope;
    });
    sums.store(out, run.period / L::kCount);
  }
};

/// Calls f.template operator()<kVectors>() for the run's number of vectors.
template <int kBytes, class F>
[[gnu::always_inline]] inline void with_vectors(PeriodicLoops::Run run, F&& f) {
  switch (run.period / Lanes<kBytes>::kCount) {
    case 3:
      return f.template operator()<3>();
    case 4:
      return f.template operator()<4>();
    case 5:
      return f.template operator()<5>();
    case 8:
      return f.template operator()<8>();
    default:
      return f.template operator()<0>();
  }
}

template <int kBytes>
struct PeriodicTable {
  using Run = PeriodicLoops::Run;
  using Gradient = PeriodicLoops::Gradient;

  static void sums(Run run, const float* x, float* out) {
    with_vectors<kBytes>(run, [&]<int kV>() { Periodic<kBytes, kV>::sums(run, x, out); });
  }
  static void square_sums(Run run, const float* x, const float* mean, float* out) {
    with_vectors<kBytes>(run, [&]<int kV>() { Periodic<kBytes, kV>::square_sums(run, x, mean, out); });
  }
  template <Clip kClip>
  static void affine(Run run, const float* x, const float* scale, const float* offset, float* y) {
    with_vectors<kBytes>(
        run, [&]<int kV>() { Periodic<kBytes, kV>::template affine<kClip>(run, x, scale, offset, y); });
  }
  template <Clip kClip>
  static void gradient_sums(Run run, const Gradient& in, float* out, float* products) {
    with_vectors<kBytes>(
        run, [&]<int kV>() { Periodic<kBytes, kV>::template gradient_sums<kClip>(run, in, out, products); });
  }
  template <Clip kClip>
  static void gradient_input(Run run, const Gradient& in, const float* by_x, const float* constant,
                             float* dx) {
    with_vectors<kBytes>(run, [&]<int kV>() {
      Periodic<kBytes, kV>::template gradient_input<kClip>(run, in, by_x, constant, dx);
    });
  }
  static void relu_backward(Run run, const float* dy, const float* y, float* dz, float* out) {
    with_vectors<kBytes>(run, [&]<int kV>() {
      using P = Periodic<kBytes, kV>;
      P::template activation_backward<typename P::Relu>(run, dy, y, dz, out);
    });
  }
  static void relu6_backward(Run run, const float* dy, const float* y, float* dz, float* out) {
    with_vectors<kBytes>(run, [&]<int kV>() {
      using P = Periodic<kBytes, kV>;
      P::template activation_backward<typename P::Relu6>(run, dy, y, dz, out);
    });
  }
  static void sigmoid_backward(Run run, const float* dy, const float* y, float* dz, float* out) {
    with_vectors<kBytes>(run, [&]<int kV>() {
      using P = Periodic<kBytes, kV>;
      P::template activation_backward<typename P::Sigmoid>(run, dy, y, dz, out);
    });
  }
  static void tanh_backward(Run run, const float* dy, const float* y, float* dz, float* out) {
    with_vectors<kBytes>(run, [&]<int kV>() {
      using P = Periodic<kBytes, kV>;
      P::template activation_backward<typename P::Tanh>(run, dy, y, dz, out);
    });
  }
};

template <int kBytes>
constexpr PeriodicLoops make_periodic_loops() {
  using T = PeriodicTable<kBytes>;
  return {.sums = T::sums,
          .square_sums = T::square_sums,
          .affine = T::template affine<Clip::none>,
          .affine_relu = T::template affine<Clip::relu>,
          .affine_relu6 = T::template affine<Clip::relu6>,
          .gradient_sums = T::template gradient_sums<Clip::none>,
          .gradient_sums_relu = T::template gradient_sums<Clip::relu>,
          .gradient_sums_relu6 = T::template gradient_sums<Clip::relu6>,
          .gradient_input = T::template gradient_input<Clip::none>,
          .gradient_input_relu = T::template gradient_input<Clip::relu>,
          .gradient_input_relu6 = T::template gradient_input<Clip::relu6>,
          .relu_backward = T::relu_backward,
          .sigmoid_backward = T::sigmoid_backward,
          .tanh_backward = T::tanh_backward,
          .relu6_backward = T::relu6_backward};
}

}  // namespace nyala::vec
