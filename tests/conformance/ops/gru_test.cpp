#include <cmath>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/nn/gru.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/tests/conformance/ops/op_checks.h>
#include <nyala/tests/support/team.h>

namespace nyala::testing {
namespace {

using ops::RecurrentOptions;
using Inner = ops::RecurrentActivation;

struct Sizes {
  int64_t batch, time, units;
  bool biased = true, masked = false;
};

Tensors inputs(const Sizes& s) {
  const double scale = 1.0 / std::sqrt(static_cast<double>(s.units));
  Tensors t{random_tensor({s.batch, s.time, 3 * s.units}, 1, -2, 2),
            random_tensor({s.units, 3 * s.units}, 2, -scale, scale),
            random_tensor({s.batch, s.units}, 3, -1, 1)};
  if (s.biased) t.push_back(random_tensor({3 * s.units}, 4, -1, 1));
  if (!s.masked) return t;
  std::vector<double> mask(static_cast<size_t>(s.batch * s.time));
  for (size_t i = 0; i < mask.size(); ++i)
    mask[i] = i * 7 % 5 < 3 && i >= static_cast<size_t>(s.time) ? 1 : 0;
  t.push_back(tensor_of(mask, {s.batch, s.time}, DType::bool_));
  return t;
}

ops::GruResult run(const Tensors& t, const Sizes& s, const RecurrentOptions& options) {
  return ops::detail::gru({t[0], t[1], t[2], s.biased ? t[3] : Tensor(), s.masked ? t.back() : Tensor()},
                          options);
}

/// Both results in one number.
OpFunction both_results(const Sizes& s, const RecurrentOptions& options) {
  return [s, options](const Tensors& t) {
    const auto r = run(t, s, options);
    return ops::sum(r.output * r.output) + ops::sum(r.h * r.h * r.h) * 0.5;
  };
}

OpFunction output_alone(const Sizes& s, const RecurrentOptions& options) {
  return [s, options](const Tensors& t) { return run(t, s, options).output; };
}

TEST(Gru, FollowsItsFormulas) {
  const Sizes s{1, 2, 1};
  const Tensors t = inputs(s);
  const auto r = run(t, s, {.return_sequences = true});
  const std::vector<double> x = values_of(t[0]), kernel = values_of(t[1]), bias = values_of(t[3]);
  double h = values_of(t[2])[0];
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  for (size_t step = 0; step < 2; ++step) {
    const auto recurrent = [&](size_t g) { return h * kernel[g] + bias[g]; };
    const double z = sigmoid(x[step * 3] + recurrent(0)), reset = sigmoid(x[step * 3 + 1] + recurrent(1)),
                 n = std::tanh(x[step * 3 + 2] + reset * recurrent(2));
    h = z * h + (1 - z) * n;
    EXPECT_NEAR(values_of(r.output)[step], h, 1e-6);
  }
  EXPECT_NEAR(r.h.item(), h, 1e-6);
}

TEST(Gru, GradientsAreThoseOfDifferences) {
  for (const bool sequences : {false, true})
    for (const bool backwards : {false, true})
      for (const bool zeros : {false, true})
        for (const bool masked : {false, true})
          for (const bool biased : {false, true}) {
            const RecurrentOptions options{
                .return_sequences = sequences, .go_backwards = backwards, .zero_output_for_mask = zeros};
            const Sizes s{3, 4, 2, biased, masked}, small{2, 3, 1, biased, masked};
            expect_gradients(both_results(s, options), inputs(s), {1e-5, 1e-6});
            expect_gradients(output_alone(small, options), inputs(small), {1e-5, 1e-6});
          }
}

TEST(Gru, GradientsOfEveryActivation) {
  const Sizes s{2, 3, 2};
  for (const Inner inner : {Inner::linear, Inner::relu, Inner::sigmoid, Inner::tanh, Inner::hard_sigmoid})
    for (const Inner gates : {Inner::sigmoid, Inner::hard_sigmoid, Inner::relu})
      expect_gradients(
          both_results(s, {.activation = inner, .recurrent_activation = gates, .return_sequences = true}),
          inputs(s), {1e-5, 1e-6});
}

TEST(Gru, KernelsAgree) {
  for (Sizes s : {Sizes{0, 3, 4}, Sizes{2, 0, 4}, Sizes{1, 1, 1}, Sizes{3, 4, 5}, Sizes{7, 3, 16},
                  Sizes{17, 5, 33}, Sizes{40, 2, 64}, Sizes{5, 30, 70}})
    for (const bool masked : {false, true})
      for (const bool sequences : {false, true}) {
        s.masked = masked;
        s.biased = sequences;
        const RecurrentOptions options{.return_sequences = sequences, .go_backwards = masked};
        expect_kernels_agree(output_alone(s, options), inputs(s), {1e-4, 2e-5});
        if (s.batch > 0)
          expect_kernels_agree(both_results(s, options), inputs(s),
                               {.relative = 2e-4, .absolute = 2e-4, .half_values = 8, .half_gradients = 16});
      }
}

TEST(Gru, KernelsAgreeOnEveryActivation) {
  const Sizes s{4, 3, 9, true, true};
  for (const Inner inner : {Inner::linear, Inner::relu, Inner::sigmoid, Inner::tanh, Inner::hard_sigmoid})
    for (const Inner gates : {Inner::linear, Inner::sigmoid, Inner::hard_sigmoid, Inner::relu})
      expect_kernels_agree(output_alone(s, {.activation = inner,
                                            .recurrent_activation = gates,
                                            .return_sequences = true,
                                            .zero_output_for_mask = true}),
                           inputs(s), {1e-4, 2e-5});
}

TEST(Gru, BitsDoNotDependOnThreadsOrNeighbours) {
  const Sizes s{45, 5, 20, true, true};
  const Tensors t = inputs(s);
  const auto with_threads = [&](int threads) {
    const TestTeam team(threads);
    return run_with_gradients(output_alone(s, {.return_sequences = true}), t);
  };
  const Outcome one = with_threads(1), three = with_threads(3);
  EXPECT_EQ(one.value.to_vector<float>(), three.value.to_vector<float>());
  for (size_t i : {0, 2})
    EXPECT_EQ(one.gradients[i].to_vector<float>(), three.gradients[i].to_vector<float>());
  Tensors part = t;
  for (size_t i : {0, 2, 4}) part[i] = t[i].rows(11, 5).clone();
  EXPECT_EQ(run(part, s, {}).output.to_vector<float>(),
            run(t, s, {}).output.rows(11, 5).clone().to_vector<float>());
}

TEST(Gru, RefusesWhatDoesNotFit) {
  const Sizes s{2, 3, 2};
  const Tensors t = inputs(s);
  EXPECT_THROW(ops::detail::gru({t[0], random_tensor({3, 6}, 1), t[2], {}, {}}, {}), ShapeError);
  EXPECT_THROW(ops::detail::gru({random_tensor({2, 3, 7}, 1), t[1], t[2], {}, {}}, {}), ShapeError);
  EXPECT_THROW(ops::detail::gru({t[0], t[1], random_tensor({3, 2}, 1), {}, {}}, {}), ShapeError);
  EXPECT_THROW(ops::detail::gru({t[0], t[1], t[2], random_tensor({5}, 1), {}}, {}), ShapeError);
  EXPECT_THROW(ops::detail::gru({t[0], t[1], t[2], t[3], Tensor::zeros({2, 4}, DType::bool_)}, {}),
               ShapeError);
}

}  // namespace
}  // namespace nyala::testing
