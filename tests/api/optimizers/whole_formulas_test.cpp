#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <nyala/api/optimizers/base/variable_update.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/comparison.h>
#include <nyala/backend/ops/elementwise/exponential.h>
#include <nyala/backend/ops/elementwise/logical.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/nn/matmul.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/ops/shape/shape.h>
#include <nyala/backend/ops/shape/transpose.h>
#include <nyala/tests/api/optimizers/bench.h>

// Lamb, Adafactor and Muon, whose updates are passes of their own over a variable, against the same formulas
// written with ops, as a program writes them.
namespace nyala::whole_formulas_test {

using namespace nyala::detail;

namespace {

/// What the formulas below share.
class OfOps : public OptimizerNode {
 public:
  explicit OfOps(OptimizerOptions options) : OptimizerNode(std::move(options)) {}
  void fields(FieldVisitor&) override {}
  bool takes_whole_variables() const override { return true; }
};

struct LambNumbers {
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7;
};

class LambOfOps final : public OfOps {
 public:
  using OfOps::OfOps;
  std::string class_name() const override { return "LambOfOps"; }
  std::vector<std::string> slot_names() const override { return {"momentum", "velocity"}; }
  bool takes_whole_variables() const override { return true; }
  std::vector<double> step_scalars(int64_t step, double learning_rate, DType) const override {
    const double t = static_cast<double>(step + 1);
    return {learning_rate, 1.0 - std::pow(config_.beta_1, t), 1.0 - std::pow(config_.beta_2, t)};
  }

  void update(const UpdateRange& range) const override {
    const VariableUpdate v(range);
    const Tensor w = v.weight(), g = v.gradient(), m = v.slot(0), u = v.slot(1);
    VariableUpdate::assign(m, m + (g - m) * (1.0 - config_.beta_1));
    VariableUpdate::assign(u, u + (ops::square(g) - u) * (1.0 - config_.beta_2));
    const Tensor step = m / v.number(1) / (ops::sqrt(u / v.number(2)) + config_.epsilon);
    VariableUpdate::assign(w, w - trust(norm_of(w), norm_of(step)) * v.number(0) * step);
  }

 private:
  static Tensor trust(const Tensor& of_weight, const Tensor& of_step) {
    const Tensor zero = ops::zeros_like(of_weight), one = ops::ones_like(of_weight);
    const Tensor both = ops::logical_and(ops::greater(of_weight, zero), ops::greater(of_step, zero));
    return ops::where(both, of_weight / of_step, one);
  }

  LambNumbers config_;
};

class AdafactorOfOps final : public OfOps {
 public:
  explicit AdafactorOfOps(OptimizerOptions options, double clip_threshold = 1.0)
      : OfOps(std::move(options)), clip_threshold_(clip_threshold) {}
  std::string class_name() const override { return "AdafactorOfOps"; }
  std::vector<std::string> slot_names() const override { return {"r", "c", "velocity"}; }
  std::vector<double> step_scalars(int64_t step, double learning_rate, DType) const override {
    const double t = static_cast<double>(step + 1), kept = 1.0 - std::pow(t, -0.8);
    return {std::min(learning_rate, 1.0 / std::sqrt(t)), kept, 1.0 - kept};
  }

  void update(const UpdateRange& range) const override {
    const VariableUpdate u(range);
    const Tensor w = u.weight(), g = u.gradient(), v = u.slot(2), square = ops::square(g) + 1e-30;
    const auto averaged = [&u](const Tensor& slot, const Tensor& value) {
      return VariableUpdate::assign(slot, slot * u.number(1) + value * u.number(2));
    };
    const Shape& shape = range.shape;
    if (shape.rank() >= 2) {
      const Tensor r = averaged(u.slot(0, shape.slice(0, shape.rank() - 1)), ops::mean(square, {-1}));
      const Tensor c = averaged(u.slot(1, shape.without(shape.rank() - 2)), ops::mean(square, {-2}));
      VariableUpdate::assign(v, ops::expand_dims(r / ops::mean(r, {-1}, true), -1) * ops::expand_dims(c, -2));
    } else {
      averaged(v, square);
    }
    const Tensor step = g / ops::sqrt(v);
    const Tensor size = at_least(root_mean_square(w), 1e-3) * u.number(0);
    VariableUpdate::assign(w, w - size * step / at_least(root_mean_square(step) / clip_threshold_, 1.0));
  }

 private:
  static Tensor at_least(const Tensor& x, double minimum) {
    return ops::clip(x, minimum, std::numeric_limits<double>::infinity());
  }

  double clip_threshold_;
};

/// For matrices alone.
class MuonOfOps final : public OfOps {
 public:
  MuonOfOps(OptimizerOptions options, bool nesterov, int steps)
      : OfOps(std::move(options)), nesterov_(nesterov), steps_(steps) {}
  std::string class_name() const override { return "MuonOfOps"; }
  std::vector<std::string> slot_names() const override { return {"momentum", "velocity"}; }
  std::vector<double> step_scalars(int64_t, double learning_rate, DType) const override {
    return {learning_rate};
  }

  void update(const UpdateRange& range) const override {
    const VariableUpdate v(range);
    const Tensor g = v.gradient(), w = v.weight();
    const Tensor m = VariableUpdate::assign(v.slot(0), v.slot(0) * 0.95 + g);
    const Tensor step = orthogonal(nesterov_ ? g + m * 0.95 : m);
    const double scale = 0.2 * std::sqrt(static_cast<double>(std::max(range.shape[0], range.shape[1])));
    VariableUpdate::assign(w, w - step * v.number(0) * scale);
  }

 private:
  Tensor orthogonal(const Tensor& given) const {
    const bool tall = given.shape()[0] > given.shape()[1];
    Tensor x = tall ? ops::transpose(given) : given;
    x = x / (norm_of(x) + 1e-7);
    for (int i = 0; i < steps_; ++i) {
      const Tensor a = ops::matmul(x, ops::transpose(x));
      x = x * 3.4445 + ops::matmul(a * -4.775 + ops::matmul(a * 2.0315, a), x);
    }
    return tall ? ops::transpose(x) : x;
  }

  bool nesterov_;
  int steps_;
};

const std::vector<Shape> kShapes = {{33, 17}, {17},    {1},     {1, 1},       {40, 1},
                                    {1, 40},  {20000}, {3, 70}, {2, 3, 5, 7}, {300, 130}};
const std::vector<Shape> kMatrices = {{33, 17}, {17, 33}, {1, 1}, {40, 1}, {1, 40}, {64, 64}};

struct Kind {
  std::vector<Shape> shapes;
  DType dtype;
  bool with_nan = false;
};

template <class Node, class... Arguments>
Optimizer of_ops(const OptimizerOptions& options, Arguments... arguments) {
  return Optimizer(std::make_shared<Node>(options, arguments...));
}

/// Both have the same weights after each of six steps, the third of which has gradients of zero.
void expect_same(const Optimizer& optimizer, const Optimizer& other, const Kind& kind) {
  Bench got(optimizer, {.shapes = kind.shapes, .dtype = kind.dtype});
  Bench expected(other, {.shapes = kind.shapes, .dtype = kind.dtype});
  const double tolerance = kind.dtype == DType::float64 ? 1e-12 : 2e-5;
  for (int step = 0; step < 6; ++step) {
    auto gradients = got.gradients(step, step == 2 ? 0.0 : 1.0);
    if (kind.with_nan && step == 4) gradients[0][0] = std::nan("");
    got.step(gradients);
    expected.step(gradients);
    for (size_t v = 0; v < kind.shapes.size(); ++v) {
      const std::vector<double> a = got.weights(v), b = expected.weights(v);
      for (size_t i = 0; i < a.size(); ++i) {
        ASSERT_EQ(std::isnan(a[i]), std::isnan(b[i])) << "step " << step << " variable " << v << " " << i;
        if (std::isnan(a[i])) continue;
        ASSERT_NEAR(a[i], b[i], tolerance * (1 + std::abs(b[i])))
            << "step " << step << " variable " << v << " of " << kind.shapes[v].to_string() << " " << i;
      }
    }
  }
}

TEST(WholeFormulas, Lamb) {
  for (const DType dtype : {DType::float64, DType::float32}) {
    expect_same(Lamb(0.03), of_ops<LambOfOps>({.learning_rate = 0.03}), {kShapes, dtype});
    expect_same(Lamb({.learning_rate = 0.03, .weight_decay = 0.2, .clipvalue = 0.4}),
                of_ops<LambOfOps>({.learning_rate = 0.03, .weight_decay = 0.2, .clipvalue = 0.4}),
                {kShapes, dtype});
  }
  expect_same(Lamb(0.03), of_ops<LambOfOps>({.learning_rate = 0.03}), {kShapes, DType::float32, true});
}

TEST(WholeFormulas, Adafactor) {
  for (const DType dtype : {DType::float64, DType::float32}) {
    expect_same(Adafactor(0.03), of_ops<AdafactorOfOps>({.learning_rate = 0.03}), {kShapes, dtype});
    expect_same(
        Adafactor({.learning_rate = 0.5, .clip_threshold = 0.5, .weight_decay = 0.2, .clipvalue = 0.4}),
        of_ops<AdafactorOfOps>({.learning_rate = 0.5, .weight_decay = 0.2, .clipvalue = 0.4}, 0.5),
        {kShapes, dtype});
  }
  expect_same(Adafactor(0.03), of_ops<AdafactorOfOps>({.learning_rate = 0.03}),
              {kShapes, DType::float32, true});
}

TEST(WholeFormulas, Muon) {
  // Five steps make of 1e-7 of rounding up to 3.4445^5 times as much where a matrix has no small values.
  for (const bool nesterov : {true, false})
    for (const int steps : {0, 1, 5}) {
      const OptimizerOptions options{.learning_rate = 0.03, .weight_decay = 0.2, .clipvalue = 0.4};
      expect_same(Muon({.learning_rate = 0.03,
                        .weight_decay = 0.2,
                        .clipvalue = 0.4,
                        .ns_steps = steps,
                        .nesterov = nesterov}),
                  of_ops<MuonOfOps>(options, nesterov, steps), {kMatrices, DType::float64});
    }
  expect_same(Muon({.learning_rate = 0.03, .weight_decay = kNoValue}),
              of_ops<MuonOfOps>({.learning_rate = 0.03}, true, 5), {kMatrices, DType::float32, true});
}

}  // namespace
}  // namespace nyala::whole_formulas_test
