#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/comparison.h>
#include <nyala/backend/ops/elementwise/logical.h>
#include <nyala/tests/conformance/ops/op_checks.h>

namespace nyala {

namespace {

using namespace testing;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

struct BinaryCase {
  const char* name;
  Tensor (*op)(const Operand&, const Operand&);
  double (*expected)(double, double);
  double low = -2, high = 2;
};

std::vector<BinaryCase> functions() {
  return {
      {"add", ops::add, [](double a, double b) { return a + b; }},
      {"subtract", ops::subtract, [](double a, double b) { return a - b; }},
      {"multiply", ops::multiply, [](double a, double b) { return a * b; }},
      {"divide", ops::divide, [](double a, double b) { return a / b; }, 0.5, 2},
      {"maximum", ops::maximum, [](double a, double b) { return std::max(a, b); }},
      {"minimum", ops::minimum, [](double a, double b) { return std::min(a, b); }},
      {"power", ops::power, [](double a, double b) { return std::pow(a, b); }, 0.2, 2},
      {"mod", ops::mod, [](double a, double b) { return a - b * std::floor(a / b); }, 0.7, 1.3},
      {"squared_difference", ops::squared_difference, [](double a, double b) { return (a - b) * (a - b); }},
      {"arctan2", ops::arctan2, [](double a, double b) { return std::atan2(a, b); }}};
}

struct ShapePair {
  Shape a, b;
};

std::vector<ShapePair> shapes() {
  return {{{}, {}},
          {{1}, {1}},
          {{5}, {5}},
          {{5}, {}},
          {{}, {3, 2}},
          {{3, 1}, {1, 4}},
          {{2, 3, 4}, {4}},
          {{4}, {2, 3, 4}},
          {{2, 3, 4}, {3, 1}},
          {{2, 1, 4}, {3, 1}},
          {{2, 3, 2, 2}, {2, 1, 1, 2}},
          {{0, 3}, {3}},
          {{2, 1, 3}, {2, 0, 3}}};
}

TEST(BinaryTest, ValuesGradientsAndKernels) {
  uint64_t seed = 1;
  for (const BinaryCase& c : functions()) {
    const OpFunction f = [&](const Tensors& x) { return c.op(x[0], x[1]); };
    for (const ShapePair& pair : shapes()) {
      SCOPED_TRACE(std::string(c.name) + " " + pair.a.to_string() + " " + pair.b.to_string());
      const Tensor a = random_tensor(pair.a, seed++, c.low, c.high),
                   b = random_tensor(pair.b, seed++, c.low, c.high);
      expect_gradients(f, {a, b});
      expect_kernels_agree(f, {a, b}, {1e-5, 1e-5});
    }
  }
}

TEST(BinaryTest, ValuesByTheLibraryOfC) {
  for (const BinaryCase& c : functions()) {
    SCOPED_TRACE(c.name);
    const Tensor a = random_tensor({4, 5}, 8, c.low, c.high, DType::float64);
    const Tensor b = random_tensor({5}, 9, c.low, c.high, DType::float64);
    const std::vector<double> x = values_of(a), y = values_of(b);
    std::vector<double> expected;
    for (size_t i = 0; i < x.size(); ++i) expected.push_back(c.expected(x[i], y[i % 5]));
    expect_close(c.op(a, b), tensor_of(expected, {4, 5}, DType::float64), {1e-13, 1e-14});
  }
}

TEST(BinaryTest, LargeTensorsTakeTheFastKernels) {
  uint64_t seed = 100;
  const std::vector<ShapePair> large = {{{30, 700}, {30, 700}},    {{30, 700}, {700}}, {{700}, {30, 700}},
                                        {{30, 700}, {}},           {{}, {30, 700}},    {{30, 700}, {30, 1}},
                                        {{7, 10, 33}, {7, 1, 33}}, {{22'000, 3}, {3}}, {{20}, {4001, 20}},
                                        {{70'001}, {70'001}},      {{16385}, {16385}}, {{3, 9000}, {3, 1}}};
  for (const BinaryCase& c : functions()) {
    for (const ShapePair& pair : large) {
      const bool huge = pair.a.num_elements() > 30'000 || pair.b.num_elements() > 30'000;
      if (huge && c.op != ops::add && c.op != ops::divide) continue;
      SCOPED_TRACE(std::string(c.name) + " " + pair.a.to_string() + " " + pair.b.to_string());
      expect_kernels_agree(
          [&](const Tensors& x) { return c.op(x[0], x[1]); },
          {random_tensor(pair.a, seed++, c.low, c.high), random_tensor(pair.b, seed++, c.low, c.high)},
          {.relative = 1e-4, .absolute = 1e-3, .half_gradients = 32});
    }
  }
}

TEST(BinaryTest, TiesAndNan) {
  const Tensor a = tensor_of({1, kNan, 3, kNan, kInfinity}, {5}),
               b = tensor_of({1, 2, kNan, kNan, -kInfinity}, {5});
  expect_close(ops::maximum(a, b), tensor_of({1, kNan, kNan, kNan, kInfinity}, {5}));
  expect_close(ops::minimum(a, b), tensor_of({1, kNan, kNan, kNan, -kInfinity}, {5}));
  for (auto* op : {ops::maximum, ops::minimum}) {
    const Outcome tie = run_with_gradients([&](const Tensors& x) { return op(x[0], x[1]); },
                                           {tensor_of({1}, {1}), tensor_of({1}, {1})});
    EXPECT_NE(values_of(tie.gradients[0])[0], 0);
    EXPECT_EQ(values_of(tie.gradients[1])[0], 0);
  }
  for (const BinaryCase& c : functions())
    expect_kernels_agree([&](const Tensors& x) { return c.op(x[0], x[1]); }, {a, b});
}

TEST(BinaryTest, IntegersDivideLikePython) {
  const Tensor a = tensor_of({-1, 5, 7, -7, 6}, {5}, DType::int32),
               b = tensor_of({3, -3, 2, 2, 3}, {5}, DType::int32);
  expect_close(ops::mod(a, b), tensor_of({2, -1, 1, 1, 0}, {5}, DType::int32));
  expect_close(ops::floor_divide(a, b), tensor_of({-1, -2, 3, -4, 2}, {5}, DType::int32));
  expect_close(ops::mod(ops::divide(a, b) * 3.0, tensor_of({3}, {})), tensor_of({2, 1, 1.5, 1.5, 0}, {5}));
  expect_close(ops::divide(a, b), tensor_of({-1.0 / 3, -5.0 / 3, 3.5, -3.5, 2}, {5}));
  EXPECT_THROW(ops::mod(a, Tensor::zeros({5}, DType::int32)), NumericError);
  EXPECT_THROW(ops::floor_divide(a, Tensor::zeros({}, DType::int32)), NumericError);
  const int32_t least = std::numeric_limits<int32_t>::min();
  EXPECT_EQ(ops::floor_divide(Tensor::scalar(least), Tensor::scalar(int32_t{-1})).item(), least);
  EXPECT_EQ(ops::mod(Tensor::scalar(least), Tensor::scalar(int32_t{-1})).item(), 0);
}

TEST(BinaryTest, Powers) {
  expect_close(ops::power(tensor_of({2, 3}, {2}, DType::int32), tensor_of({3, 2}, {2}, DType::int32)),
               tensor_of({8, 9}, {2}, DType::int32));
  EXPECT_THROW(ops::power(tensor_of({2}, {1}, DType::int32), tensor_of({-1}, {1}, DType::int32)),
               NumericError);
  const Tensor x = tensor_of({-2, 0.5, 3}, {3});
  expect_close(ops::power(x, 2.0), tensor_of({4, 0.25, 9}, {3}));
  expect_close(ops::power(tensor_of({4}, {1}, DType::int32), 0.5), tensor_of({2}, {1}));
  expect_close(ops::power(tensor_of({4}, {1}, DType::int32), 2), tensor_of({16}, {1}, DType::int32));
  // Keras: bytes stay bytes, which wrap around; truth values become int32.
  expect_close(ops::power(tensor_of({3, 200}, {2}, DType::uint8), 2), tensor_of({9, 64}, {2}, DType::uint8));
  expect_close(ops::power(tensor_of({1, 0}, {2}, DType::bool_), 2), tensor_of({1, 0}, {2}, DType::int32));
  expect_close(ops::power(tensor_of({4}, {1}, DType::uint8), 0.5), tensor_of({2}, {1}));
  for (const double exponent : {0.0, 1.0, 2.0, 3.0, -1.0})
    expect_gradients([&](const Tensors& t) { return ops::power(t[0], exponent); }, {x});
  const Outcome zero =
      run_with_gradients([](const Tensors& t) { return ops::power(t[0], 0.0); }, {tensor_of({0}, {1})});
  EXPECT_EQ(values_of(zero.gradients[0])[0], 0);
}

// TensorFlow 2.21's, but for 0^0: there it gives NaN by the first operand.
TEST(BinaryTest, GradientsOfPowersAtBasesThatHaveNoLogarithm) {
  const struct {
    double a, b, by_a, by_b;
  } known[] = {{0, 2, 0, 0},
               {0, 1, 1, 0},
               {0, 0.5, INFINITY, 0},
               {0, -1, -INFINITY, NAN},
               {0, 0, 0, 0},
               {-2, 2, -4, 0},
               {-2, 0.5, NAN, NAN},
               {2, 0, 0, 0.6931471805599453},
               {-INFINITY, 3, INFINITY, NAN}};
  // The gradient of the result, which is weighed.
  const double weight = run_with_gradients([](const Tensors& t) { return t[0] + 0.0; }, {tensor_of({1}, {})})
                            .gradients[0]
                            .item();
  const auto expect = [&](double weighed, double wanted, const std::string& what) {
    const double received = weighed / weight;
    EXPECT_TRUE(std::isnan(wanted) ? std::isnan(received)
                                   : received == wanted || std::abs(received - wanted) < 1e-6)
        << what << ": " << received << ", expected " << wanted;
  };
  for (const DType dtype : {DType::float32, DType::float64})
    for (const auto& k : known) {
      const std::string what = std::to_string(k.a) + "^" + std::to_string(k.b);
      const Outcome both = run_with_gradients([](const Tensors& t) { return ops::power(t[0], t[1]); },
                                              {tensor_of({k.a}, {}, dtype), tensor_of({k.b}, {}, dtype)});
      expect(both.gradients[0].item(), k.by_a, what + " by a");
      expect(both.gradients[1].item(), k.by_b, what + " by b");
      const Outcome one = run_with_gradients([&](const Tensors& t) { return ops::power(t[0], k.b); },
                                             {tensor_of({k.a}, {}, dtype)});
      expect(one.gradients[0].item(), k.by_a, what + " by a, of a number's power");
    }
}

TEST(BinaryTest, PromotesDtypes) {
  const Tensor small = tensor_of({200, 100}, {2}, DType::uint8),
               whole = tensor_of({100, 2}, {2}, DType::int64);
  expect_close(ops::add(small, whole), tensor_of({300, 102}, {2}, DType::int64));
  expect_close(ops::maximum(small, tensor_of({0.5, 200.5}, {2})), tensor_of({200, 200.5}, {2}));
  EXPECT_EQ(ops::multiply(small, tensor_of({1, 1}, {2}, DType::bool_)).dtype(), DType::uint8);
  EXPECT_THROW(ops::add(Tensor::zeros({2, 3}), Tensor::zeros({4})), ShapeError);
  EXPECT_THROW(ops::maximum(Tensor::zeros({2, 3}), Tensor::zeros({2})), ShapeError);
}

TEST(BinaryTest, UnknownSizes) {
  const Tensor a = Tensor::abstract({None, 3}, DType::float32), b = Tensor::zeros({3});
  for (const BinaryCase& c : functions()) EXPECT_EQ(c.op(a, b).shape(), Shape({None, 3})) << c.name;
  EXPECT_EQ(ops::where(ops::less(a, b), a, b).shape(), Shape({None, 3}));
  EXPECT_EQ(ops::power(a, 2.0).shape(), Shape({None, 3}));
}

TEST(WhereTest, ChoosesAndBroadcasts) {
  const Tensor condition = tensor_of({1, 0, 1}, {3}, DType::bool_);
  expect_close(ops::where(condition, tensor_of({1, 2, 3}, {3}), tensor_of({9}, {})),
               tensor_of({1, 9, 3}, {3}));
  expect_close(
      ops::where(tensor_of({5, 0}, {2, 1}, DType::int32), tensor_of({1, 2}, {2}), tensor_of({3, 4}, {2})),
      tensor_of({1, 2, 3, 4}, {2, 2}));
  EXPECT_EQ(ops::where(condition, tensor_of({1}, {1}, DType::int32), tensor_of({1}, {1})).dtype(),
            DType::float32);
  const Tensor mask = tensor_of({1, 0, 0, 1}, {2, 2}, DType::bool_);
  const OpFunction f = [](const Tensors& x) { return ops::where(x[0], x[1], x[2]); };
  expect_gradients(f, {mask, random_tensor({2, 2}, 1), random_tensor({2}, 2)});
  expect_gradients(f, {mask, random_tensor({}, 1), random_tensor({3, 1, 2}, 2)});
  expect_kernels_agree(f, {mask, random_tensor({2, 2}, 1), random_tensor({1, 2}, 2)});
  expect_kernels_agree(f, {Tensor::zeros({0}, DType::bool_), Tensor::zeros({0}), Tensor::zeros({1})});
}

TEST(WhereTest, NanOnTheOtherSideDoesNotReachTheGradient) {
  const Outcome outcome = run_with_gradients(
      [](const Tensors& x) { return ops::where(x[0], x[1], x[2]); },
      {tensor_of({1, 0}, {2}, DType::bool_), tensor_of({1, kNan}, {2}), tensor_of({kNan, 1}, {2})});
  EXPECT_EQ(values_of(outcome.gradients[1])[1], 0);
  EXPECT_EQ(values_of(outcome.gradients[2])[0], 0);
}

TEST(ComparisonTest, AgainstHandMadeTables) {
  const Tensor a = tensor_of({1, 2, 3, kNan, kInfinity}, {5}), b = tensor_of({2, 2, 2, kNan, kInfinity}, {5});
  using Table = std::vector<bool>;
  EXPECT_EQ(ops::equal(a, b).to_vector<bool>(), Table({0, 1, 0, 0, 1}));
  EXPECT_EQ(ops::not_equal(a, b).to_vector<bool>(), Table({1, 0, 1, 1, 0}));
  EXPECT_EQ(ops::less(a, b).to_vector<bool>(), Table({1, 0, 0, 0, 0}));
  EXPECT_EQ(ops::less_equal(a, b).to_vector<bool>(), Table({1, 1, 0, 0, 1}));
  EXPECT_EQ(ops::greater(a, b).to_vector<bool>(), Table({0, 0, 1, 0, 0}));
  EXPECT_EQ(ops::greater_equal(a, b).to_vector<bool>(), Table({0, 1, 1, 0, 1}));
  EXPECT_EQ(ops::isclose(a, b).to_vector<bool>(), Table({0, 1, 0, 0, 1}));
  EXPECT_EQ(ops::isclose(a, b, {.atol = 1.0, .equal_nan = true}).to_vector<bool>(), Table({1, 1, 1, 1, 1}));
  EXPECT_EQ(ops::isclose(a, tensor_of({kInfinity}, {})).to_vector<bool>(), Table({0, 0, 0, 0, 1}));
  EXPECT_EQ(ops::less(tensor_of({1, 0}, {2, 1}, DType::bool_), tensor_of({0.5, 2}, {2})).to_vector<bool>(),
            Table({0, 1, 1, 1}));
}

TEST(ComparisonTest, OnEveryDevice) {
  for (auto* op :
       {ops::equal, ops::not_equal, ops::less, ops::less_equal, ops::greater, ops::greater_equal}) {
    const OpFunction f = [&](const Tensors& x) { return op(x[0], x[1]); };
    expect_kernels_agree(f, {random_tensor({6, 5}, 1), random_tensor({5}, 2)});
    expect_kernels_agree(f, {random_tensor({0, 5}, 1), random_tensor({5}, 2)});
  }
}

TEST(LogicalTest, TruthOfAnyDtype) {
  const Tensor a = tensor_of({0, 0, 2, -1}, {4}), b = tensor_of({0, 7, 0, 7}, {4}, DType::int32);
  using Table = std::vector<bool>;
  EXPECT_EQ(ops::logical_and(a, b).to_vector<bool>(), Table({0, 0, 0, 1}));
  EXPECT_EQ(ops::logical_or(a, b).to_vector<bool>(), Table({0, 1, 1, 1}));
  EXPECT_EQ(ops::logical_xor(a, b).to_vector<bool>(), Table({0, 1, 1, 0}));
  EXPECT_EQ(ops::logical_not(a).to_vector<bool>(), Table({1, 1, 0, 0}));
  expect_kernels_agree([](const Tensors& x) { return ops::logical_and(x[0], x[1]); }, {a, b});
}

TEST(ScalarOperatorsTest, KeepTheDtypeOfFloats) {
  const Tensor x = tensor_of({1, 2}, {2}, DType::float64), n = tensor_of({1, 2}, {2}, DType::int32);
  expect_close(x * 2.5 + 1.0, tensor_of({3.5, 6}, {2}, DType::float64));
  expect_close(1.0 - x / 4.0, tensor_of({0.75, 0.5}, {2}, DType::float64));
  expect_close(n * 2, tensor_of({2, 4}, {2}, DType::int32));
  expect_close(n * 2.0, tensor_of({2, 4}, {2}));
  expect_close(n * 0.5, tensor_of({0.5, 1}, {2}));
  expect_close(n / 2.0, tensor_of({0.5, 1}, {2}));
  expect_gradients([](const Tensors& t) { return 3.0 / (t[0] * 2.0 + 1.0) - t[0]; },
                   {random_tensor({4}, 1, 0.5, 1)});
}

}  // namespace

}  // namespace nyala
