#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include <nyala/api/schedules/all.h>
#include <nyala/tests/api/optimizers/bench.h>

// The formulas of Keras' pages on one number after the other, against the updates over whole arenas.
namespace nyala::formulas_test {
namespace {

struct Element {
  double w = 0, a = 0, b = 0, c = 0;  // weight and slots
};
/// One update of one element: `step` from 0, `g` the gradient.
using Formula = std::function<void(Element&, double g, int step)>;

void expect_formula(const Optimizer& optimizer, const Formula& formula, const std::string& what) {
  Bench bench(optimizer);
  std::vector<std::vector<Element>> expected;
  for (size_t v = 0; v < bench.variables.size(); ++v) {
    expected.emplace_back();
    for (double w : bench.weights(v)) expected.back().push_back({.w = w});
  }
  for (int step = 0; step < 7; ++step) {
    const auto gradients = bench.gradients(step);
    bench.step(gradients);
    for (size_t v = 0; v < expected.size(); ++v) {
      const std::vector<double> got = bench.weights(v);
      for (size_t i = 0; i < got.size(); ++i) {
        formula(expected[v][i], gradients[v][i], step);
        ASSERT_NEAR(got[i], expected[v][i].w, 1e-13)
            << what << " step " << step << " variable " << v << " " << i;
      }
    }
  }
}

const double kRate = static_cast<float>(0.03);

TEST(OptimizerFormulas, SGD) {
  expect_formula(
      SGD(0.03), [](Element& e, double g, int) { e.w -= kRate * g; }, "plain");
  const auto momentum = [](bool nesterov) {
    return [nesterov](Element& e, double g, int) {
      e.a = 0.9 * e.a - kRate * g;
      e.w += nesterov ? 0.9 * e.a - kRate * g : e.a;
    };
  };
  expect_formula(SGD({.learning_rate = 0.03, .momentum = 0.9}), momentum(false), "momentum");
  expect_formula(SGD({.learning_rate = 0.03, .momentum = 0.9, .nesterov = true}), momentum(true), "nesterov");
  expect_formula(
      SGD({.learning_rate = 0.03, .nesterov = true}), [](Element& e, double g, int) { e.w -= kRate * g; },
      "nesterov without momentum");
}

void adam(Element& e, double g, int step, bool amsgrad) {
  const double t = step + 1, b1 = 0.8, b2 = 0.95;
  e.a += (g - e.a) * (1 - b1);
  e.b += (g * g - e.b) * (1 - b2);
  e.c = std::max(e.c, e.b);
  const double alpha = kRate * std::sqrt(1 - std::pow(b2, t)) / (1 - std::pow(b1, t));
  e.w -= alpha * e.a / (std::sqrt(amsgrad ? e.c : e.b) + 1e-4);
}

TEST(OptimizerFormulas, Adam) {
  for (const bool amsgrad : {false, true})
    expect_formula(
        Adam({.learning_rate = 0.03, .beta_1 = 0.8, .beta_2 = 0.95, .epsilon = 1e-4, .amsgrad = amsgrad}),
        [amsgrad](Element& e, double g, int step) { adam(e, g, step, amsgrad); },
        amsgrad ? "amsgrad" : "adam");
}

TEST(OptimizerFormulas, RMSprop) {
  for (const bool centered : {false, true})
    for (const double momentum : {0.0, 0.6})
      expect_formula(
          RMSprop({.learning_rate = 0.03,
                   .rho = 0.7,
                   .momentum = momentum,
                   .epsilon = 1e-5,
                   .centered = centered}),
          [=](Element& e, double g, int) {
            e.a = 0.7 * e.a + (1 - 0.7) * g * g;
            e.b = 0.7 * e.b + (1 - 0.7) * g;
            const double step = kRate * g / std::sqrt(e.a - (centered ? e.b * e.b : 0.0) + 1e-5);
            e.c = momentum * e.c + step;
            e.w -= momentum > 0 ? e.c : step;
          },
          "centered " + std::to_string(centered) + " momentum " + std::to_string(momentum));
}

TEST(OptimizerFormulas, WeightDecayComesFirstAndIsDecoupled) {
  expect_formula(
      SGD({.learning_rate = 0.03, .momentum = 0.9, .weight_decay = 0.4}),
      [](Element& e, double g, int) {
        e.w -= e.w * 0.4 * kRate;
        e.a = 0.9 * e.a - kRate * g;
        e.w += e.a;
      },
      "decay");
}

TEST(OptimizerFormulas, ClipValueAfterLossScale) {
  expect_formula(
      SGD({.learning_rate = 0.03, .clipvalue = 0.2, .loss_scale_factor = 2.0}),
      [](Element& e, double g, int) { e.w -= kRate * std::clamp(g / 2.0, -0.2, 0.2); }, "clipvalue");
}

TEST(OptimizerFormulas, SchedulesAreSeenByTheStepBefore) {
  expect_formula(
      SGD({.learning_rate = PiecewiseConstantDecay({2, 4}, {0.5, 0.25, 0.125})}),
      [](Element& e, double g, int step) {
        e.w -= (step <= 2 ? 0.5 : step <= 4 ? 0.25 : 0.125) * g;
      },
      "schedule");
}

TEST(OptimizerFormulas, AFormulaMadeOfOtherOps) {
  class Halver final : public OptimizerNode {
   public:
    Halver() : OptimizerNode({.learning_rate = 0.5, .weight_decay = 0.1, .clipvalue = 0.3}) {}
    std::string class_name() const override { return "Halver"; }
    void fields(FieldVisitor&) override {}
    std::vector<std::string> slot_names() const override { return {}; }
    std::vector<double> step_scalars(int64_t, double, DType) const override { return {}; }
    void update(const UpdateRange& range) const override {
      const std::vector<double> g = range.gradient.to_vector<double>();
      std::vector<double> w = range.weight.to_vector<double>();
      for (size_t i = 0; i < w.size(); ++i) w[i] -= 0.5 * g[i];
      range.weight.copy_from_host(w.data());
    }
  };
  expect_formula(
      Optimizer(std::make_shared<Halver>()),
      [](Element& e, double g, int) {
        e.w -= e.w * 0.1 * 0.5;
        e.w -= 0.5 * std::clamp(g, -0.3, 0.3);
      },
      "prepared");
}

}  // namespace
}  // namespace nyala::formulas_test
