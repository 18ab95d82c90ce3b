#include <cmath>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/nn/lstm.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/tests/conformance/ops/op_checks.h>
#include <nyala/tests/support/team.h>

namespace nyala::testing {
namespace {

using ops::RecurrentOptions;
using Inner = ops::RecurrentActivation;

/// All three results in one number per kind, so that each has a gradient.
OpFunction all_results(const RecurrentOptions& d) {
  return [d](const Tensors& t) {
    const auto r = ops::detail::lstm({t[0], t[1], t[2], t[3], t.size() > 4 ? t[4] : Tensor()}, d);
    return ops::sum(r.output * r.output) + ops::sum(r.h) * 0.5 + ops::sum(r.c * r.c * r.c);
  };
}

OpFunction output_alone(const RecurrentOptions& d) {
  return [d](const Tensors& t) {
    return ops::detail::lstm({t[0], t[1], t[2], t[3], t.size() > 4 ? t[4] : Tensor()}, d).output;
  };
}

struct Sizes {
  int64_t batch, time, units;
};

Tensors inputs(const Sizes& s, bool masked = false) {
  const double scale = 1.0 / std::sqrt(static_cast<double>(s.units));
  Tensors t{random_tensor({s.batch, s.time, 4 * s.units}, 1, -2, 2),
            random_tensor({s.units, 4 * s.units}, 2, -scale, scale),
            random_tensor({s.batch, s.units}, 3, -1, 1), random_tensor({s.batch, s.units}, 4, -1, 1)};
  if (!masked) return t;
  std::vector<double> mask(static_cast<size_t>(s.batch * s.time));
  for (size_t i = 0; i < mask.size(); ++i)
    mask[i] = i * 7 % 5 < 3 && i >= static_cast<size_t>(s.time) ? 1 : 0;
  t.push_back(tensor_of(mask, {s.batch, s.time}, DType::bool_));
  return t;
}

TEST(Lstm, FollowsItsFormulas) {
  const Tensors t = inputs({1, 2, 1});
  const auto r = ops::detail::lstm({t[0], t[1], t[2], t[3], {}}, {.return_sequences = true});
  const std::vector<double> z = values_of(t[0]), kernel = values_of(t[1]);
  double h = values_of(t[2])[0], c = values_of(t[3])[0];
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  for (size_t step = 0; step < 2; ++step) {
    const auto gate = [&](size_t g) { return z[step * 4 + g] + h * kernel[g]; };
    const double i = sigmoid(gate(0)), f = sigmoid(gate(1)), g = std::tanh(gate(2)), o = sigmoid(gate(3));
    c = f * c + i * g;
    h = o * std::tanh(c);
    EXPECT_NEAR(values_of(r.output)[step], h, 1e-6);
  }
  EXPECT_NEAR(r.h.item(), h, 1e-6);
  EXPECT_NEAR(r.c.item(), c, 1e-6);
}

TEST(Lstm, GradientsAreThoseOfDifferences) {
  for (const bool sequences : {false, true})
    for (const bool backwards : {false, true})
      for (const bool zeros : {false, true})
        for (const bool masked : {false, true}) {
          const RecurrentOptions d{
              .return_sequences = sequences, .go_backwards = backwards, .zero_output_for_mask = zeros};
          expect_gradients(all_results(d), inputs({3, 4, 2}, masked), {1e-5, 1e-6});
          expect_gradients(output_alone(d), inputs({2, 3, 1}, masked), {1e-5, 1e-6});
        }
}

TEST(Lstm, GradientsOfEveryActivation) {
  for (const Inner inner : {Inner::linear, Inner::relu, Inner::sigmoid, Inner::tanh, Inner::hard_sigmoid})
    for (const Inner gates : {Inner::sigmoid, Inner::hard_sigmoid, Inner::relu})
      expect_gradients(
          all_results({.activation = inner, .recurrent_activation = gates, .return_sequences = true}),
          inputs({2, 3, 2}), {1e-5, 1e-6});
}

TEST(Lstm, KernelsAgree) {
  for (const Sizes& s : {Sizes{0, 3, 4}, Sizes{2, 0, 4}, Sizes{1, 1, 1}, Sizes{3, 4, 5}, Sizes{7, 3, 16},
                         Sizes{17, 5, 33}, Sizes{40, 2, 64}, Sizes{5, 30, 70}})
    for (const bool masked : {false, true})
      for (const bool sequences : {false, true}) {
        const RecurrentOptions d{.return_sequences = sequences, .go_backwards = masked};
        expect_kernels_agree(output_alone(d), inputs(s, masked), {1e-4, 2e-5});
        if (s.batch > 0)
          expect_kernels_agree(all_results(d), inputs(s, masked),
                               {.relative = 2e-4, .absolute = 2e-4, .half_values = 8, .half_gradients = 16});
      }
}

TEST(Lstm, KernelsAgreeOnEveryActivation) {
  for (const Inner inner : {Inner::linear, Inner::relu, Inner::sigmoid, Inner::tanh, Inner::hard_sigmoid})
    for (const Inner gates : {Inner::linear, Inner::sigmoid, Inner::hard_sigmoid, Inner::relu})
      expect_kernels_agree(output_alone({.activation = inner,
                                         .recurrent_activation = gates,
                                         .return_sequences = true,
                                         .zero_output_for_mask = true}),
                           inputs({4, 3, 9}, true), {1e-4, 2e-5});
}

TEST(Lstm, RowsDoNotDependOnTheirNeighbours) {
  const Tensors t = inputs({37, 6, 24});
  const auto whole = ops::detail::lstm({t[0], t[1], t[2], t[3], {}}, {});
  const auto part = ops::detail::lstm(
      {t[0].rows(11, 5).clone(), t[1], t[2].rows(11, 5).clone(), t[3].rows(11, 5).clone(), {}}, {});
  EXPECT_EQ(whole.output.rows(11, 5).clone().to_vector<float>(), part.output.to_vector<float>());
}

TEST(Lstm, BitsDoNotDependOnThreads) {
  const Tensors t = inputs({45, 5, 20}, true);
  const auto run = [&](int threads) {
    const TestTeam team(threads);
    return run_with_gradients(output_alone({.return_sequences = true}), t);
  };
  const Outcome one = run(1), three = run(3);
  EXPECT_EQ(one.value.to_vector<float>(), three.value.to_vector<float>());
  for (size_t i : {0, 2, 3})
    EXPECT_EQ(one.gradients[i].to_vector<float>(), three.gradients[i].to_vector<float>()) << i;
}

TEST(Lstm, AMaskedRowKeepsItsStatesAndShowsZeros) {
  const Tensors t = inputs({3, 4, 2}, true);  // row 0 is masked everywhere
  const auto r = ops::detail::lstm({t[0], t[1], t[2], t[3], t[4]}, {.return_sequences = true});
  EXPECT_EQ(r.h.rows(0, 1).clone().to_vector<float>(), t[2].rows(0, 1).clone().to_vector<float>());
  EXPECT_EQ(r.c.rows(0, 1).clone().to_vector<float>(), t[3].rows(0, 1).clone().to_vector<float>());
  for (const float y : r.output.rows(0, 1).clone().to_vector<float>()) EXPECT_EQ(y, 0.0f);
}

TEST(Lstm, KnowsItsShapesWithoutValues) {
  const Tensor z = Tensor::abstract({None, None, 12}, DType::float32),
               state = Tensor::abstract({None, 3}, DType::float32);
  const auto r =
      ops::detail::lstm({z, random_tensor({3, 12}, 1), state, state, {}}, {.return_sequences = true});
  EXPECT_EQ(r.output.shape(), (Shape{None, None, 3}));
  EXPECT_EQ(r.h.shape(), (Shape{None, 3}));
}

TEST(Lstm, RefusesWhatDoesNotFit) {
  Tensors t = inputs({2, 3, 2});
  EXPECT_THROW(ops::detail::lstm({t[0], random_tensor({3, 8}, 1), t[2], t[3], {}}, {}), ShapeError);
  EXPECT_THROW(ops::detail::lstm({random_tensor({2, 3, 7}, 1), t[1], t[2], t[3], {}}, {}), ShapeError);
  EXPECT_THROW(ops::detail::lstm({t[0], t[1], random_tensor({3, 2}, 1), t[3], {}}, {}), ShapeError);
  EXPECT_THROW(ops::detail::lstm({t[0], t[1], t[2], t[3], Tensor::zeros({2, 4}, DType::bool_)}, {}),
               ShapeError);
  EXPECT_THROW(ops::detail::lstm({t[0], t[1], t[2], t[3], Tensor::zeros({2, 3})}, {}), ShapeError);
}

}  // namespace
}  // namespace nyala::testing
