#pragma once

#include <cstdint>
#include <optional>
#include <vector>

/// Decompositions of one matrix, in float64. What no formula gives here is std::nullopt.
namespace nyala::ops::detail {

/// Numbers row by row.
struct WideMatrix {
  int64_t rows = 0, columns = 0;
  std::vector<double> values;
};

/// L with L L^T = a, of which the lower triangle is read. None unless a is positive definite.
std::optional<WideMatrix> cholesky_factor(const WideMatrix& a);
/// The inverse of L L^T, or of U^T U, where L or U is the triangle of `factor`.
WideMatrix inverse_of_factored(const WideMatrix& factor, bool upper);

struct Triangle {
  bool lower = false;
  bool transposed = false;
};
/// x with A x = b, where A is a triangle of `a`, perhaps transposed. A zero on the diagonal divides.
WideMatrix solve_triangle(const WideMatrix& a, const WideMatrix& b, Triangle triangle);

/// x with a x = b, or a^T x = b. None where a pivot is 0.
std::optional<WideMatrix> solve_square(const WideMatrix& a, const WideMatrix& b, bool transposed);
std::optional<WideMatrix> inverse_of(const WideMatrix& a);

struct LowerUpper {
  WideMatrix factors;          // U, and below it L without its ones
  std::vector<double> pivots;  // the row of the factors that row i of the matrix went to
};
std::optional<LowerUpper> factor_lower_upper(const WideMatrix& a);

double determinant_of(const WideMatrix& a);
struct LogDeterminant {
  double sign = 1.0;  // -1, 0 or 1
  double log = 0.0;   // of the absolute value
};
LogDeterminant log_determinant_of(const WideMatrix& a);

struct SymmetricEigen {
  std::vector<double> values;  // ascending
  WideMatrix vectors;          // in the columns
};
/// Of the symmetric matrix whose lower triangle is that of a. None where the iteration does not end, as with
/// NaN.
std::optional<SymmetricEigen> symmetric_eigen(const WideMatrix& a);

struct OrthogonalTriangular {
  WideMatrix q, r;
};
OrthogonalTriangular factor_orthogonal(const WideMatrix& a, bool complete);

struct SingularValues {
  WideMatrix u;
  std::vector<double> s;  // descending
  WideMatrix vh;
};
/// NaN throughout where a holds one or an infinity.
SingularValues singular_values(const WideMatrix& a, bool full_matrices);

}  // namespace nyala::ops::detail
