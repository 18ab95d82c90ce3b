#include <limits>

#include <gtest/gtest.h>

#include <nyala/api/model/model.h>
#include <nyala/api/saving/load_model.h>
#include <nyala/api/utils/jvp.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/all.h>
#include <nyala/tests/golden/golden_data.h>
#include <nyala/tests/op_values/op_values.h>

namespace nyala::golden {
namespace linalg_test {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <Tensor (*op)(const Tensor&)>
Tensor unary(const Tensors& x) {
  return op(x[0]);
}

Tensors slogdet(const Tensors& x) {
  const ops::Slogdet y = ops::slogdet(x[0]);
  return {y.sign, y.logabsdet};
}
Tensors lu_factor(const Tensors& x) {
  const ops::LuFactor y = ops::lu_factor(x[0]);
  return {y.lu, y.pivots};
}
Tensors eigh(const Tensors& x) {
  const ops::Eigh y = ops::eigh(x[0]);
  return {y.eigenvalues, y.eigenvectors};
}
Tensors qr(const Tensors& x) {
  const ops::Qr y = ops::qr(x[0]);
  return {y.q, y.r};
}
Tensors complete_qr(const Tensors& x) {
  const ops::Qr y = ops::qr(x[0], "complete");
  return {y.q, y.r};
}
Tensors svd(const Tensors& x) {
  const ops::Svd y = ops::svd(x[0]);
  return {y.u, y.s, y.vh};
}
Tensors thin_svd(const Tensors& x) {
  const ops::Svd y = ops::svd(x[0], false);
  return {y.u, y.s, y.vh};
}
Tensor singular_values(const Tensors& x) { return ops::svd(x[0], true, false).s; }

Tensor first(const Tensor& x, int axis, int64_t count) {
  return ops::slice_axis(x, x.rank() + axis, {0, count});
}

/// What does not depend on the signs of singular vectors.
auto products(bool full) {
  return [=](const Tensors& x) {
    const ops::Svd y = ops::svd(x[0], full);
    const int64_t size = y.s.shape().back();
    const Tensor left = first(y.u, -1, size) * ops::expand_dims(ops::sqrt(y.s), -2);
    return Tensors{ops::matmul(left, first(y.vh, -2, size)), y.s, ops::square(y.u), ops::square(y.vh)};
  };
}
Tensors squares(const Tensors& x) {
  const ops::Eigh y = ops::eigh(x[0]);
  const Tensor scaled = y.eigenvectors * ops::expand_dims(ops::exp(y.eigenvalues), -2);
  return {y.eigenvalues, ops::square(y.eigenvectors), ops::matmul(scaled, y.eigenvectors, {false, true})};
}

Tensor solve(const Tensors& x) { return ops::solve(x[0], x[1]); }
Tensor solve_triangular(const Tensors& x) { return ops::solve_triangular(x[0], x[1]); }
Tensor cdist(const Tensors& x) { return ops::cdist(x[0], x[1]); }
Tensor pinv(const Tensors& x) { return ops::pinv(x[0]); }
Tensor matrix_rank(const Tensors& x) { return ops::matrix_rank(x[0]); }
Tensor lstsq(const Tensors& x) { return ops::lstsq(x[0], x[1]); }

auto norm(const ops::NormOrder& ord = {}, const Axes& axis = {}, bool keepdims = false) {
  return [=](const Tensors& x) { return ops::norm(x[0], ord, axis, keepdims); };
}

const OpCase kCases[] = {
    {"cholesky", [](const Tensors& x) { return ops::cholesky(x[0]); }},
    {"cholesky upper", [](const Tensors& x) { return ops::cholesky(x[0], true); }},
    {"cholesky_inverse", [](const Tensors& x) { return ops::cholesky_inverse(x[0]); }},
    {"cholesky_inverse upper", [](const Tensors& x) { return ops::cholesky_inverse(x[0], true); }},
    {"logdet", unary<ops::logdet>},
    {"logdet of what is not definite", unary<ops::logdet>},
    {"det", unary<ops::det>},
    {"det of a singular matrix", unary<ops::det>},
    {"slogdet", slogdet},
    {"slogdet of a singular matrix", slogdet},
    {"inv", unary<ops::inv>},
    {"solve of matrices", solve},
    {"solve of vectors", solve},
    {"solve_triangular", solve_triangular},
    {"solve_triangular lower", [](const Tensors& x) { return ops::solve_triangular(x[0], x[1], true); }},
    {"solve_triangular of one for all", solve_triangular},
    {"lu_factor", lu_factor},
    {"lu_factor of another", lu_factor},
    {"eigh", squares},
    {"eigh as it is", eigh},
    {"eigh of equal values", [](const Tensors& x) { return ops::eigh(x[0]).eigenvalues; }},
    {"qr of tall", qr},
    {"qr of rows", qr},
    {"qr of columns", qr},
    {"qr complete of rows", complete_qr},
    {"qr complete of columns", complete_qr},
    {"qr of nothing", qr},
    {"svd of rows", products(false)},
    {"svd of columns", products(false)},
    {"svd of squares", products(true)},
    {"svd full, one more row", products(true)},
    {"svd full, one more column", products(true)},
    {"svd as it is", svd},
    {"svd thin as it is", thin_svd},
    {"svd without vectors", singular_values},
    {"svd of nothing", svd},
    {"pinv of rows", pinv},
    {"pinv of columns", pinv},
    {"pinv of a singular matrix", pinv},
    {"pinv with rcond", [](const Tensors& x) { return ops::pinv(x[0], 0.5); }},
    {"matrix_rank", matrix_rank},
    {"matrix_rank with tol", [](const Tensors& x) { return ops::matrix_rank(x[0], 2.5); }},
    {"lstsq", lstsq},
    {"lstsq of a vector", lstsq},
    {"lstsq with rcond", [](const Tensors& x) { return ops::lstsq(x[0], x[1], 0.5); }},
    {"lstsq with rcond below 0", [](const Tensors& x) { return ops::lstsq(x[0], x[1], -1.0); }},
    {"norm of a vector", norm()},
    {"norm of a matrix", norm()},
    {"norm of integers", norm({}, 1)},
    {"norm of zeros", norm()},
    {"norm 0 of vectors", norm(0, -1)},
    {"norm 1 of vectors", norm(1, -1)},
    {"norm 2 of vectors", norm(2, -1)},
    {"norm 3 of vectors", norm(3, -1, true)},
    {"norm -2 of vectors", norm(-2, -1)},
    {"norm 2.5 of vectors", norm(2.5, -1)},
    {"norm inf of vectors", norm(kInfinity, -1)},
    {"norm -inf of vectors", norm(-kInfinity, -1)},
    {"norm fro of matrices", norm("fro", {0, 2})},
    {"norm nuc of matrices", norm("nuc", {0, 2})},
    {"norm 1 of matrices", norm(1, {0, 2}, true)},
    {"norm -1 of matrices", norm(-1, {0, 2})},
    {"norm 2 of matrices", norm(2, {0, 2})},
    {"norm -2 of matrices", norm(-2, {0, 2})},
    {"norm inf of matrices", norm(kInfinity, {0, 2})},
    {"norm -inf of matrices", norm(-kInfinity, {0, 2})},
    {"norm of columns and rows", norm(1, {-1, 0})},
    {"norm nuc, axes kept", norm("nuc", {0, 1}, true)},
    {"jvp",
     [](const Tensors& x) {
       const auto function = [](const Tensors& t) {
         return Tensors{ops::matmul(ops::sin(t[0]), t[1]), ops::square(t[0])};
       };
       const ops::Jvp y = ops::jvp(function, {x[0], x[1]}, {x[2], x[3]});
       return Tensors{y.primals_out[0], y.primals_out[1], y.tangents_out[0], y.tangents_out[1]};
     }},
    {"cdist", cdist},
    {"cdist of batches", cdist},
    {"cdist of one for all", cdist},
    {"cdist of equal points", cdist},
};

TEST(OpValues, Linalg) { expect_op_values("op_values_linalg.json", kCases); }

TEST(Linalg, ShapesOfWhatIsUnknown) {
  const Tensor x = Tensor::abstract({None, 3, 3}, DType::float32);
  const Tensor open = Tensor::abstract({None, None}, DType::float32);
  EXPECT_EQ(ops::cholesky(open).shape(), (Shape{None, None}));
  EXPECT_EQ(ops::det(x).shape(), (Shape{None}));
  EXPECT_EQ(ops::solve(x, Tensor::abstract({None, 3}, DType::float32)).shape(), (Shape{None, 3}));
  EXPECT_EQ(ops::pinv(Tensor::abstract({None, 3, 2}, DType::float32)).shape(), (Shape{None, 2, 3}));
  EXPECT_EQ(ops::norm(x, "nuc", {1, 2}).shape(), (Shape{None}));
  EXPECT_EQ(ops::cdist(x, x).shape(), (Shape{None, 3, 3}));
  EXPECT_EQ(ops::cholesky(Tensor::abstract({2, 2}, DType::int32)).dtype(), DType::float32);
  EXPECT_THROW(ops::svd(open), ShapeError);
  EXPECT_THROW(ops::qr(open), ShapeError);
}

TEST(Linalg, RefusesShapes) {
  const Tensor row = Tensor::ones({3}), tall = Tensor::ones({3, 2}), square = Tensor::ones({2, 2});
  for (const auto op : {ops::det, ops::inv, ops::logdet}) {
    EXPECT_THROW(op(row), ShapeError);
    EXPECT_THROW(op(tall), ShapeError);
  }
  EXPECT_THROW(ops::cholesky(tall), ShapeError);
  EXPECT_THROW(ops::cholesky_inverse(tall), ShapeError);
  EXPECT_THROW(ops::slogdet(tall), ShapeError);
  EXPECT_THROW(ops::eigh(tall), ShapeError);
  EXPECT_THROW(ops::lu_factor(tall), ShapeError);
  EXPECT_THROW(ops::svd(row), ShapeError);
  EXPECT_THROW(ops::qr(row), ShapeError);
  EXPECT_THROW(ops::pinv(row), ShapeError);
  EXPECT_THROW(ops::matrix_rank(row), ShapeError);
  EXPECT_THROW(ops::solve(square, tall), ShapeError);
  EXPECT_THROW(ops::solve(square, Tensor::ones({})), ShapeError);
  EXPECT_THROW(ops::solve_triangular(tall, row), ShapeError);
  EXPECT_THROW(ops::lstsq(tall, square), ShapeError);
  EXPECT_THROW(ops::lstsq(Tensor::ones({1, 3, 2}), row), ShapeError);
  EXPECT_THROW(ops::cdist(row, tall), ShapeError);
  EXPECT_THROW(ops::cdist(tall, Tensor::ones({2, 3})), ShapeError);
}

TEST(Linalg, RefusesArguments) {
  const Tensor x = Tensor::ones({2, 2, 2});
  EXPECT_THROW(ops::norm(x), ShapeError);
  EXPECT_THROW(ops::norm(x, {}, 3), ShapeError);
  EXPECT_THROW(ops::norm(x, {}, {1, 1}), ShapeError);
  EXPECT_THROW(ops::norm(Tensor::ones({})), ShapeError);
  EXPECT_THROW(ops::norm(x, "fro", 1), InvalidArgumentError);
  EXPECT_THROW(ops::norm(x, 3, {0, 1}), InvalidArgumentError);
  EXPECT_THROW(ops::norm(x, "max", {0, 1}), InvalidArgumentError);
  EXPECT_THROW(ops::qr(x, "full"), InvalidArgumentError);
  EXPECT_THROW(ops::eig(x), DTypeError);
}

TEST(Linalg, ReadsInfinityAsKerasWritesIt) {
  const Json golden = load("op_values_linalg.json");
  for (const Json& entry : golden.at("cases")) {
    if (entry.at("case") != "norm 3 of vectors") continue;
    std::string text = entry.at("model").dump();
    text.replace(text.find("\"ord\":3"), 7, "\"ord\":-Infinity");
    const Tensor x = Tensor::arange(24).with_shape({2, 3, 4}) - 5.0;
    const Tensor wanted = ops::norm(ops::cast(x, DType::float32), -kInfinity, -1, true);
    const Model model = model_from_json(text);
    EXPECT_EQ(model(ops::cast(x, DType::float32)).to_vector<float>(), wanted.to_vector<float>());
  }
}

TEST(Jvp, ResultsThatNothingLeadsTo) {
  const Tensor x = Tensor::full({2}, 3.0);
  const ops::Jvp y = ops::jvp(
      [](const Tensors& t) {
        return Tensors{ops::argmax(t[0]), ops::multiply(t[0], t[0]), Tensor::ones({2})};
      },
      {x}, {Tensor::full({2}, 0.5)});
  EXPECT_FALSE(y.tangents_out[0].defined());
  EXPECT_EQ(y.tangents_out[1].to_vector<float>(), (std::vector<float>{3, 3}));
  EXPECT_FALSE(y.tangents_out[2].defined());
  EXPECT_EQ(y.primals_out[1].to_vector<float>(), (std::vector<float>{9, 9}));
  const auto same = [](const Tensors& t) { return t; };
  EXPECT_THROW(ops::jvp(same, {x}, {}), InvalidArgumentError);
  EXPECT_THROW(ops::jvp(same, {x}, {Tensor::ones({3})}), ShapeError);
  EXPECT_THROW(ops::jvp(same, {ops::arange(2)}, {ops::arange(2)}), InvalidArgumentError);
}

TEST(Linalg, RefusesValues) {
  const Tensor zeros = Tensor::zeros({2, 2}), negative = ops::eye(2) * -1.0;
  EXPECT_THROW(ops::cholesky(negative), NumericError);
  EXPECT_THROW(ops::inv(zeros), NumericError);
  EXPECT_THROW(ops::solve(zeros, Tensor::ones({2})), NumericError);
  EXPECT_THROW(ops::lu_factor(zeros), NumericError);
  EXPECT_THROW(ops::eigh(zeros / 0.0), NumericError);
  EXPECT_FLOAT_EQ(ops::det(Tensor::zeros({0, 0})).item(), 1.0f);
}

}  // namespace linalg_test
}  // namespace nyala::golden
