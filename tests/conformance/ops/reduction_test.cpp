#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/nn/einsum.h>
#include <nyala/backend/ops/nn/matmul.h>
#include <nyala/backend/ops/reduction/arg_reduction.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/ops/reduction/statistics.h>
#include <nyala/backend/ops/shape/transpose.h>
#include <nyala/tests/conformance/ops/op_checks.h>

namespace nyala {

namespace {

using namespace testing;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

struct ReductionCase {
  Shape shape;
  std::vector<int> axes;
  bool keepdims;
};

std::vector<ReductionCase> cases() {
  return {{{}, {}, false},
          {{1}, {}, false},
          {{7}, {}, true},
          {{7}, {0}, false},
          {{5, 3}, {0}, false},
          {{5, 3}, {1}, true},
          {{5, 3}, {-1}, false},
          {{5, 3}, {}, false},
          {{2, 3, 4}, {1}, false},
          {{2, 3, 4}, {0, 2}, true},
          {{2, 3, 4}, {0, 2}, false},
          {{2, 3, 4}, {2, 0}, false},
          {{3, 1, 2, 5}, {0, 1, 2}, false},
          {{3, 1, 2, 5}, {1}, false},
          {{2, 3, 2, 2, 3}, {0, 2, 4}, false},
          {{33, 17}, {0}, false},
          {{300, 10}, {0}, false},
          {{300, 1}, {0}, false},
          {{4, 500}, {1}, false},
          {{2, 50, 37}, {1}, false}};
}

using Reduction = Tensor (*)(const Tensor&, const Axes&, bool);

void check_all_cases(Reduction reduction, double low, double high, size_t most_elements_for_gradients) {
  uint64_t seed = 1;
  for (const ReductionCase& c : cases()) {
    SCOPED_TRACE(c.shape.to_string());
    const OpFunction f = [&](const Tensors& x) { return reduction(x[0], c.axes, c.keepdims); };
    const Tensor x = random_tensor(c.shape, seed++, low, high);
    if (static_cast<size_t>(x.num_elements()) <= most_elements_for_gradients) expect_gradients(f, {x});
    expect_kernels_agree(f, {x}, {1e-5, 1e-5});
    const Tensor abstract = reduction(Tensor::abstract(c.shape, DType::float32), c.axes, c.keepdims);
    EXPECT_EQ(abstract.shape(), f({x}).shape());
  }
}

TEST(ReductionTest, Sum) { check_all_cases(ops::sum, -2, 2, 600); }
TEST(ReductionTest, Mean) { check_all_cases(ops::mean, -2, 2, 600); }
TEST(ReductionTest, Max) { check_all_cases(ops::max, -2, 2, 100); }
TEST(ReductionTest, Min) { check_all_cases(ops::min, -2, 2, 100); }
TEST(ReductionTest, Prod) { check_all_cases(ops::prod, 0.9, 1.1, 100); }
TEST(ReductionTest, Var) { check_all_cases(ops::var, -2, 2, 100); }
TEST(ReductionTest, Logsumexp) { check_all_cases(ops::logsumexp, -2, 2, 600); }

TEST(ReductionTest, StdHasTheGradientOfARoot) {
  expect_gradients([](const Tensors& x) { return ops::std(x[0], {1}); }, {random_tensor({3, 5}, 1)});
}

TEST(ReductionTest, AgainstSumsByHand) {
  const Tensor x = tensor_of({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {2, 3, 2});
  expect_close(ops::sum(x, {1}), tensor_of({9, 12, 27, 30}, {2, 2}));
  expect_close(ops::sum(x, {0, 2}, true), tensor_of({18, 26, 34}, {1, 3, 1}));
  expect_close(ops::mean(x), tensor_of({6.5}, {}));
  expect_close(ops::prod(x, {1, 2}), tensor_of({720, 665280}, {2}));
  expect_close(ops::max(x, {0}), tensor_of({7, 8, 9, 10, 11, 12}, {3, 2}));
  expect_close(ops::min(x, {-1}), tensor_of({1, 3, 5, 7, 9, 11}, {2, 3}));
  expect_close(ops::var(x, {0, 1, 2}), tensor_of({143.0 / 12}, {}));
}

TEST(ReductionTest, NothingToReduce) {
  const Tensor empty = Tensor::zeros({0, 3});
  expect_close(ops::sum(empty, {0}), tensor_of({0, 0, 0}, {3}));
  expect_close(ops::prod(empty, {0}), tensor_of({1, 1, 1}, {3}));
  expect_close(ops::mean(empty, {0}), tensor_of({kNan, kNan, kNan}, {3}));
  expect_close(ops::logsumexp(empty, {0}), tensor_of({-kInfinity, -kInfinity, -kInfinity}, {3}));
  EXPECT_EQ(ops::sum(empty, {1}).shape(), Shape({0}));
  EXPECT_EQ(ops::max(empty, {1}).shape(), Shape({0}));
  EXPECT_EQ(ops::all(empty, {0}).to_vector<bool>(), std::vector<bool>({true, true, true}));
  EXPECT_EQ(ops::any(empty, {0}).to_vector<bool>(), std::vector<bool>({false, false, false}));
  EXPECT_THROW(ops::max(empty, {0}), ShapeError);
  EXPECT_THROW(ops::min(empty), ShapeError);
  EXPECT_THROW(ops::argmax(empty, 0), ShapeError);
  const OpFunction f = [](const Tensors& x) { return ops::sum(x[0], {0}); };
  expect_kernels_agree(f, {empty});
  EXPECT_EQ(run_with_gradients(f, {empty}).gradients[0].shape(), Shape({0, 3}));
}

TEST(ReductionTest, DtypesAreThoseOfKeras) {
  const std::vector<std::pair<DType, DType>> sums = {{DType::bool_, DType::int32},
                                                     {DType::uint8, DType::int64},  // Keras' uint32
                                                     {DType::int32, DType::int32},
                                                     {DType::int64, DType::int64},
                                                     {DType::float64, DType::float64}};
  for (const auto& [from, to] : sums) {
    const Tensor x = tensor_of({1, 0, 1}, {3}, from);
    expect_close(ops::sum(x), tensor_of({2}, {}, to));
    expect_close(ops::prod(x), tensor_of({0}, {}, to));
    expect_close(ops::max(x), tensor_of({1}, {}, from));
    EXPECT_EQ(ops::mean(x).dtype(), from == DType::float64 ? DType::float64 : DType::float32);
    EXPECT_TRUE(ops::any(x).item());
    EXPECT_FALSE(ops::all(x).item());
  }
  EXPECT_EQ(ops::sum(Tensor::zeros({2}, DType::bfloat16)).dtype(), DType::bfloat16);
}

/// What Keras 3.15 gives as uint32 below 2^32; int32 held neither.
TEST(ReductionTest, TotalsOfBytesLoseNothing) {
  const Tensor x = Tensor::full({3, 3'000'000}, 255, DType::uint8);
  EXPECT_EQ(ops::sum(x).to_vector<int64_t>(), (std::vector<int64_t>{2'295'000'000}));
  EXPECT_EQ(ops::sum(x, {0}).to_vector<int64_t>()[2'999'999], 765);
  EXPECT_EQ(ops::prod(Tensor::full({4}, 255, DType::uint8)).to_vector<int64_t>(),
            (std::vector<int64_t>{4'228'250'625}));
  EXPECT_EQ(ops::sum(Tensor::ones({3}, DType::bool_)).to_vector<int32_t>(), (std::vector<int32_t>{3}));
  EXPECT_FLOAT_EQ(ops::mean(x).at<float>({}), 255);
}

/// Products of matrices keep their dtype and wrap around, as Keras' do on TensorFlow.
TEST(ReductionTest, ProductsOfMatricesOfBytesWrapAround) {
  const Tensor x = Tensor::full({1, 300}, 255, DType::uint8);
  const Tensor product = ops::matmul(x, ops::transpose(x));
  EXPECT_EQ(product.to_vector<uint8_t>(), (std::vector<uint8_t>{300 * 255 * 255 % 256}));
  EXPECT_EQ(ops::einsum("ij,kj->ik", {x, x}).to_vector<uint8_t>(), product.to_vector<uint8_t>());
}

TEST(ReductionTest, NanAndInfinity) {
  const Tensor x = tensor_of({1, kNan, 3, -kInfinity, kInfinity, 0}, {3, 2});
  expect_close(ops::max(x, {1}), tensor_of({kNan, 3, kInfinity}, {3}));
  expect_close(ops::min(x, {1}), tensor_of({kNan, -kInfinity, 0}, {3}));
  expect_close(ops::argmax(x, 1), tensor_of({0, 0, 0}, {3}, DType::int32));
  expect_close(ops::argmin(x, 1), tensor_of({0, 1, 1}, {3}, DType::int32));
  expect_kernels_agree([](const Tensors& t) { return ops::sum(t[0], {1}); }, {x});
  expect_close(ops::logsumexp(tensor_of({-kInfinity, -kInfinity}, {2})), tensor_of({-kInfinity}, {}));
  expect_close(ops::logsumexp(tensor_of({1000, 1000}, {2})), tensor_of({1000 + std::log(2.0)}, {}));
}

TEST(ReductionTest, TiesShareTheGradientOfMax) {
  const Tensor x = tensor_of({2, 2, 1, 0, 5, 5}, {2, 3});
  const Outcome outcome = run_with_gradients(
      [](const Tensors& t) { return ops::max(t[0], {1}) * 0.0 + ops::max(t[0], {1}); }, {x});
  const std::vector<double> g = values_of(outcome.gradients[0]);
  EXPECT_DOUBLE_EQ(g[0], g[1]);
  EXPECT_EQ(g[2], 0);
  EXPECT_EQ(g[3], 0);
  EXPECT_DOUBLE_EQ(g[4], g[5]);
  EXPECT_NE(g[4], 0);
}

TEST(ReductionTest, ProdGradientWithZeros) {
  const OpFunction f = [](const Tensors& t) { return ops::prod(t[0], {1}); };
  expect_gradients(f, {tensor_of({2, 0, 3, 0, 0, 4, 1, 2, 3}, {3, 3})});
}

TEST(ReductionTest, ArgReductionsKeepTheFirst) {
  const Tensor x = tensor_of({3, 1, 3, 0, 0, -1}, {2, 3});
  expect_close(ops::argmax(x, 1), tensor_of({0, 0}, {2}, DType::int32));
  expect_close(ops::argmin(x, -1, true), tensor_of({1, 2}, {2, 1}, DType::int32));
  expect_close(ops::argmax(x, 0), tensor_of({0, 0, 0}, {3}, DType::int32));
  expect_close(ops::argmin(x), tensor_of({5}, {}, DType::int32));
  expect_kernels_agree([](const Tensors& t) { return ops::argmax(t[0], 1); }, {random_tensor({40, 13}, 3)});
}

TEST(TopKTest, ValuesIndicesAndGradient) {
  const Tensor x = tensor_of({1, 5, 3, 5, kNan, 2, 2, -1, 0, kInfinity}, {2, 5});
  const ops::TopK top = ops::top_k(x, 3);
  expect_close(top.values, tensor_of({5, 5, 3, kInfinity, 2, 2}, {2, 3}));
  expect_close(top.indices, tensor_of({1, 3, 2, 4, 0, 1}, {2, 3}, DType::int32));
  expect_close(ops::top_k(x, 5).indices, tensor_of({1, 3, 2, 0, 4, 4, 0, 1, 3, 2}, {2, 5}, DType::int32));
  const OpFunction f = [](const Tensors& t) { return ops::top_k(t[0], 2).values; };
  expect_gradients(f, {random_tensor({4, 6}, 1)});
  expect_kernels_agree(f, {random_tensor({3, 2, 7}, 1)});
  EXPECT_EQ(f({Tensor::zeros({0, 4})}).shape(), Shape({0, 2}));
  EXPECT_EQ(f({Tensor::abstract({None, 4}, DType::float32)}).shape(), Shape({None, 2}));
  EXPECT_THROW(ops::top_k(x, 6), ShapeError);
  EXPECT_THROW(ops::top_k(x, 0), ShapeError);
  EXPECT_THROW(ops::top_k(Tensor(1.0f), 1), ShapeError);
}

TEST(TopKTest, InTopKCountsTheClassesAbove) {
  const Tensor p = tensor_of({0.1, 0.6, 0.3, 0.4, 0.4, 0.2, kNan, 1, 2, 1, 2, 3}, {4, 3});
  const Tensor t = tensor_of({2, 1, 0, 3}, {4}, DType::int32);
  EXPECT_EQ(ops::in_top_k(t, p, 1).to_vector<bool>(), std::vector<bool>({false, true, false, false}));
  EXPECT_EQ(ops::in_top_k(t, p, 2).to_vector<bool>(), std::vector<bool>({true, true, false, false}));
  EXPECT_EQ(ops::in_top_k(t, p, 9).to_vector<bool>(), std::vector<bool>({true, true, false, false}));
  EXPECT_THROW(ops::in_top_k(tensor_of({1}, {1}, DType::int32), p, 1), ShapeError);
}

TEST(ReductionTest, UnknownSizesPassThrough) {
  const Tensor x = Tensor::abstract({None, 4, None}, DType::float32);
  EXPECT_EQ(ops::sum(x, {0}).shape(), Shape({4, None}));
  EXPECT_EQ(ops::mean(x, {1, 2}, true).shape(), Shape({None, 1, 1}));
  EXPECT_EQ(ops::max(x).shape(), Shape({}));
  EXPECT_EQ(ops::argmax(x, -1).shape(), Shape({None, 4}));
  EXPECT_EQ(ops::var(x, {1}).shape(), Shape({None, None}));
}

TEST(ReductionTest, WrongAxesAreNamed) {
  const Tensor x = Tensor::zeros({2, 3});
  try {
    ops::sum(x, {2});
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(), "sum: axis 2 does not exist in shape (2, 3)");
  }
  EXPECT_THROW(ops::mean(x, {-3}), ShapeError);
  EXPECT_THROW(ops::max(x, {1, -1}), ShapeError);
}

TEST(ReductionTest, Float32SumsKeepTheirDigits) {
  const int64_t count = 1'000'003;
  const Tensor x = Tensor::full({count}, 0.1);
  const double expected = static_cast<double>(0.1f) * static_cast<double>(count);
  EXPECT_NEAR(ops::sum(x).item(), expected, 1e-6 * expected);
  const Tensor columns = Tensor::full({100'003, 3}, 0.1);
  for (const double value : values_of(ops::sum(columns, {0})))
    EXPECT_NEAR(value, static_cast<double>(0.1f) * 100'003, 0.01);
}

}  // namespace

}  // namespace nyala
