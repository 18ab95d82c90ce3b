#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/rare_activation.h>
#include <nyala/tests/conformance/ops/op_checks.h>

namespace nyala::testing {
namespace {

double clip(double x, double low, double high) { return std::min(std::max(x, low), high); }
double shrunk(double x) { return x > 0.5 ? x - 0.5 : x < -0.5 ? x + 0.5 : 0.0; }
double sparse_plus(double x) { return x <= -1 ? 0.0 : x < 1 ? (x + 1) * (x + 1) / 4 : x; }

struct RareCase {
  const char* name;
  Tensor (*op)(const Tensor&);
  double (*expected)(double);
};

const RareCase kCases[] = {
    {"celu", [](const Tensor& x) { return ops::celu(x, 0.7); },
     [](double x) { return x > 0 ? x : 0.7 * std::expm1(x / 0.7); }},
    {"hard_tanh", ops::hard_tanh, [](double x) { return clip(x, -1, 1); }},
    {"tanh_shrink", ops::tanh_shrink, [](double x) { return x - std::tanh(x); }},
    {"soft_shrink", [](const Tensor& x) { return ops::soft_shrink(x); }, shrunk},
    {"hard_shrink", [](const Tensor& x) { return ops::hard_shrink(x); },
     [](double x) { return std::abs(x) > 0.5 ? x : 0.0; }},
    {"threshold", [](const Tensor& x) { return ops::threshold(x, 0.25, -3.0); },
     [](double x) { return x > 0.25 ? x : -3.0; }},
    {"squareplus", [](const Tensor& x) { return ops::squareplus(x); },
     [](double x) { return (x + std::sqrt(x * x + 4)) / 2; }},
    {"sparse_plus", ops::sparse_plus, sparse_plus},
    {"sparse_sigmoid", ops::sparse_sigmoid, [](double x) { return clip((x + 1) / 2, 0, 1); }},
};

TEST(RareActivation, ValuesAndGradients) {
  const std::vector<double> points = {-2.7, -1.3, -0.9, -0.6, -0.4, -0.1, 0.0, 0.1, 0.3, 0.6, 0.9, 1.2, 2.4};
  const Tensor x = tensor_of(points, {13});
  for (const RareCase& each : kCases) {
    SCOPED_TRACE(each.name);
    std::vector<double> expected;
    for (const double point : points) expected.push_back(each.expected(point));
    expect_close(each.op(x), tensor_of(expected, {13}));
    const std::vector<double> smooth = {-2.7, -1.3, -0.9, -0.6, -0.4, -0.1, 0.1, 0.3, 0.6, 0.9, 1.2};
    expect_gradients([&](const Tensors& t) { return each.op(t[0]); }, {tensor_of(smooth, {11})});
    expect_half([&](const Tensors& t) { return each.op(t[0]); }, {tensor_of(smooth, {11})});
    EXPECT_EQ(each.op(Tensor::zeros({0, 3})).shape(), (Shape{0, 3}));
    EXPECT_EQ(each.op(Tensor::zeros({2}, DType::int32)).dtype(), DType::float32);
  }
}

TEST(RareActivation, GluHalvesAnAxis) {
  const Tensor x = tensor_of({2, -1, 0, 3}, {1, 4});
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  expect_close(ops::glu(x), tensor_of({2 * sigmoid(0), -sigmoid(3)}, {1, 2}));
  for (const int axis : {0, -1})
    expect_gradients([axis](const Tensors& t) { return ops::glu(t[0], axis); }, {random_tensor({2, 4}, 1)});
  EXPECT_THROW(ops::glu(random_tensor({2, 3}, 1)), ShapeError);
}

TEST(RareActivation, SparsemaxIsThatOfKeras) {
  expect_close(ops::sparsemax(tensor_of({-1, 0, 1, 0.1, 3, 0.2}, {2, 3})),
               tensor_of({0, 0, 1, 0, 1, 0}, {2, 3}));
  // The support are 0.5 and 0.3 and 0.1; their running sums 0.5, 0.8, 0.9.
  const double offset = (0.5 + 0.8 + 0.9 - 1) / 3;
  expect_close(ops::sparsemax(tensor_of({0.3, 0.5, 0.1}, {3})), tensor_of({0, 0.5 - offset, 0}, {3}));
  for (const int axis : {-1, 0, 1}) {
    const Tensor x = random_tensor({3, 4, 5}, 2, -0.5, 0.5);
    expect_gradients([axis](const Tensors& t) { return ops::sparsemax(t[0], axis); }, {x});
    expect_half([axis](const Tensors& t) { return ops::sparsemax(t[0], axis); }, {x});
  }
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(),
                   kInf = std::numeric_limits<double>::infinity();
  const Tensor odd = ops::sparsemax(tensor_of({kNan, 1, 2, kInf, 1, 2, -kInf, 0, 3}, {3, 3}));
  for (int64_t i = 0; i < 6; ++i)
    EXPECT_TRUE(std::isnan(odd.to_vector<float>()[static_cast<size_t>(i)])) << i;
  expect_close(odd.rows(2, 1), tensor_of({0, 0, 1}, {1, 3}));
  EXPECT_EQ(ops::sparsemax(Tensor::zeros({0, 4})).shape(), (Shape{0, 4}));
  EXPECT_EQ(ops::sparsemax(Tensor::zeros({4, 0})).shape(), (Shape{4, 0}));
  EXPECT_THROW(ops::sparsemax(Tensor(1.0f)), ShapeError);
}

}  // namespace
}  // namespace nyala::testing
