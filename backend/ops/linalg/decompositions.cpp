// All that is taken from Eigen. Numbers of narrower dtypes are widened before they come here, so that there
// is one instance of each decomposition.
#include <algorithm>
#include <cmath>
#include <limits>

#include <Eigen/Dense>

#include <nyala/backend/ops/linalg/decompositions.h>

namespace nyala::ops::detail {

namespace {

using Matrix = Eigen::MatrixXd;
using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Eigen::Map<const RowMajor> view(const WideMatrix& a) { return {a.values.data(), a.rows, a.columns}; }

template <class Expression>
WideMatrix wide(const Expression& x) {
  WideMatrix out{x.rows(), x.cols(), std::vector<double>(static_cast<size_t>(x.size()))};
  Eigen::Map<RowMajor>(out.values.data(), out.rows, out.columns) = x;
  return out;
}

WideMatrix identity(int64_t rows, int64_t columns) { return wide(Matrix(Matrix::Identity(rows, columns))); }

std::vector<double> values_of(const Eigen::VectorXd& x) { return {x.data(), x.data() + x.size()}; }

bool is_regular(const Eigen::PartialPivLU<Matrix>& lu) {
  return !(lu.matrixLU().diagonal().array() == 0.0).any();
}

}  // namespace

std::optional<WideMatrix> cholesky_factor(const WideMatrix& a) {
  if (a.rows == 0) return a;
  const Eigen::LLT<Matrix> llt{Matrix(view(a))};
  const Matrix lower = llt.matrixL();
  if (llt.info() != Eigen::Success || !lower.allFinite()) return std::nullopt;
  return wide(lower);
}

WideMatrix solve_triangle(const WideMatrix& a, const WideMatrix& b, Triangle triangle) {
  if (b.values.empty()) return b;
  const Matrix factor = view(a);
  Matrix x = view(b);
  if (triangle.lower && triangle.transposed)
    factor.triangularView<Eigen::Lower>().transpose().solveInPlace(x);
  else if (triangle.lower)
    factor.triangularView<Eigen::Lower>().solveInPlace(x);
  else if (triangle.transposed)
    factor.triangularView<Eigen::Upper>().transpose().solveInPlace(x);
  else
    factor.triangularView<Eigen::Upper>().solveInPlace(x);
  return wide(x);
}

WideMatrix inverse_of_factored(const WideMatrix& factor, bool upper) {
  const WideMatrix inverse = solve_triangle(factor, identity(factor.rows, factor.rows), {.lower = !upper});
  const Matrix w = view(inverse);
  return upper ? wide(Matrix(w * w.transpose())) : wide(Matrix(w.transpose() * w));
}

std::optional<WideMatrix> solve_square(const WideMatrix& a, const WideMatrix& b, bool transposed) {
  if (a.rows == 0) return b;
  const Eigen::PartialPivLU<Matrix> lu{Matrix(view(a))};
  if (!is_regular(lu)) return std::nullopt;
  if (b.values.empty()) return b;
  const Matrix right = view(b);
  return transposed ? wide(Matrix(lu.transpose().solve(right))) : wide(Matrix(lu.solve(right)));
}

std::optional<WideMatrix> inverse_of(const WideMatrix& a) {
  return solve_square(a, identity(a.rows, a.rows), false);
}

std::optional<LowerUpper> factor_lower_upper(const WideMatrix& a) {
  if (a.rows == 0) return LowerUpper{a, {}};
  const Eigen::PartialPivLU<Matrix> lu{Matrix(view(a))};
  if (!is_regular(lu)) return std::nullopt;
  const auto& places = lu.permutationP().indices();
  return LowerUpper{wide(lu.matrixLU()), {places.data(), places.data() + places.size()}};
}

double determinant_of(const WideMatrix& a) {
  if (a.rows == 0) return 1.0;
  return Eigen::PartialPivLU<Matrix>(Matrix(view(a))).determinant();
}

LogDeterminant log_determinant_of(const WideMatrix& a) {
  if (a.rows == 0) return {};
  const Eigen::PartialPivLU<Matrix> lu{Matrix(view(a))};
  LogDeterminant out{static_cast<double>(lu.permutationP().determinant()), 0.0};
  for (const double pivot : lu.matrixLU().diagonal()) {
    out.sign *= pivot > 0 ? 1.0 : pivot < 0 ? -1.0 : pivot;  // NaN stays
    out.log += std::log(std::abs(pivot));
  }
  if (out.sign == 0.0) out = {0.0, -std::numeric_limits<double>::infinity()};
  return out;
}

std::optional<SymmetricEigen> symmetric_eigen(const WideMatrix& a) {
  if (a.rows == 0) return SymmetricEigen{{}, a};
  const Eigen::SelfAdjointEigenSolver<Matrix> solver{Matrix(view(a))};
  if (solver.info() != Eigen::Success) return std::nullopt;
  return SymmetricEigen{values_of(solver.eigenvalues()), wide(solver.eigenvectors())};
}

OrthogonalTriangular factor_orthogonal(const WideMatrix& a, bool complete) {
  const int64_t size = complete ? a.rows : std::min(a.rows, a.columns);
  if (a.values.empty()) return {identity(a.rows, size), {size, a.columns, {}}};
  const Eigen::HouseholderQR<Matrix> qr{Matrix(view(a))};
  const Matrix q = qr.householderQ() * Matrix::Identity(a.rows, size);
  const Matrix r = qr.matrixQR().topRows(size).triangularView<Eigen::Upper>();
  return {wide(q), wide(r)};
}

SingularValues singular_values(const WideMatrix& a, bool full_matrices) {
  const int64_t size = std::min(a.rows, a.columns);
  const int64_t left = full_matrices ? a.rows : size, right = full_matrices ? a.columns : size;
  if (a.values.empty()) return {identity(a.rows, left), {}, identity(right, a.columns)};
  const Matrix x = view(a);
  if (!x.allFinite()) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    return {wide(Matrix(Matrix::Constant(a.rows, left, nan))),
            std::vector<double>(static_cast<size_t>(size), nan),
            wide(Matrix(Matrix::Constant(right, a.columns, nan)))};
  }
  const unsigned options =
      full_matrices ? Eigen::ComputeFullU | Eigen::ComputeFullV : Eigen::ComputeThinU | Eigen::ComputeThinV;
  const Eigen::BDCSVD<Matrix> svd(x, options);
  return {wide(svd.matrixU()), values_of(svd.singularValues()), wide(Matrix(svd.matrixV().transpose()))};
}

}  // namespace nyala::ops::detail
