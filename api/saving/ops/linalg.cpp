// Decompositions, systems of equations, norms, and what else is of matrices in keras.ops.math and numpy.
#include <nyala/api/saving/ops/op_forms.h>
#include <nyala/api/saving/ops/op_table.h>
#include <nyala/backend/ops/all.h>

namespace nyala {

namespace {

std::optional<double> optional_real(const OpArguments& a, const char* name) {
  if (a.setting(name).is_null()) return std::nullopt;
  return a.real(name, 0);
}

Tensors read_cholesky(const OpArguments& a) { return {ops::cholesky(a.tensor("x", 0), a.flag("upper"))}; }
bool is_cholesky(const Descriptor& descriptor) {
  return !descriptor.as<ops::CholeskyDescriptor>().nan_where_not_definite;
}
void write_cholesky(const TracedOp&, OpConfig& out) { out.config["upper"] = false; }

Tensors read_cholesky_inverse(const OpArguments& a) {
  return {ops::cholesky_inverse(a.tensor("x", 0), a.flag("upper"))};
}
void write_cholesky_inverse(const TracedOp& op, OpConfig& out) {
  out.config["upper"] = op.as<ops::CholeskyInverseDescriptor>().upper;
}

Tensors read_eig(const OpArguments& a) { ops::eig(a.tensor("x", 0)); }

Tensors read_eigh(const OpArguments& a) {
  const ops::Eigh found = ops::eigh(a.tensor("x", 0));
  return {found.eigenvalues, found.eigenvectors};
}

Tensors read_lu_factor(const OpArguments& a) {
  const ops::LuFactor found = ops::lu_factor(a.tensor("x", 0));
  return {found.lu, found.pivots};
}

ops::NormOrder order_of(const OpArguments& a) {
  const Json ord = a.setting("ord");
  if (ord.is_null()) return {};
  if (ord.is_string()) return a.text("ord", "");
  return a.real("ord", 2);
}
Tensors read_norm(const OpArguments& a) {
  return {ops::norm(a.tensor("x", 0), order_of(a), a.small_integers("axis"), a.flag("keepdims"))};
}

Tensors read_qr(const OpArguments& a) {
  const ops::Qr found = ops::qr(a.tensor("x", 0), a.text("mode", "reduced"));
  return {found.q, found.r};
}
void write_qr(const TracedOp& op, OpConfig& out) {
  out.config["mode"] = op.as<ops::QrDescriptor>().complete ? "complete" : "reduced";
}

Tensors read_solve(const OpArguments& a) { return {ops::solve(a.tensor("a", 0), a.tensor("b", 1))}; }
bool is_solve(const Descriptor& descriptor) { return !descriptor.as<ops::SolveDescriptor>().transpose; }

Tensors read_solve_triangular(const OpArguments& a) {
  return {ops::solve_triangular(a.tensor("a", 0), a.tensor("b", 1), a.flag("lower"))};
}
bool is_solve_triangular(const Descriptor& descriptor) {
  return !descriptor.as<ops::TriangularSolveDescriptor>().transpose;
}
void write_solve_triangular(const TracedOp& op, OpConfig& out) {
  out.config["lower"] = op.as<ops::TriangularSolveDescriptor>().lower;
}

/// Keras' defaults are true, and it writes both.
bool flag_or_true(const OpArguments& a, const char* name) {
  return a.setting(name).is_null() || a.flag(name);
}
Tensors read_svd(const OpArguments& a) {
  const bool compute_uv = flag_or_true(a, "compute_uv");
  const ops::Svd found = ops::svd(a.tensor("x", 0), flag_or_true(a, "full_matrices"), compute_uv);
  return compute_uv ? Tensors{found.u, found.s, found.vh} : Tensors{found.s};
}
void write_svd(const TracedOp& op, OpConfig& out) {
  out.config["full_matrices"] = op.as<ops::SvdDescriptor>().full_matrices;
  out.config["compute_uv"] = true;
}

Tensors read_lstsq(const OpArguments& a) {
  return {ops::lstsq(a.tensor("a", 0), a.tensor("b", 1), optional_real(a, "rcond"))};
}
Tensors read_matrix_rank(const OpArguments& a) {
  return {ops::matrix_rank(a.tensor("x", 0), optional_real(a, "tol"))};
}
Tensors read_pinv(const OpArguments& a) { return {ops::pinv(a.tensor("x", 0), optional_real(a, "rcond"))}; }

constexpr OpRow kLinalgRows[] = {
    {"Cholesky", read_cholesky, {{&ops::kCholesky, write_cholesky, is_cholesky}}},
    {"CholeskyInverse", read_cholesky_inverse, {{&ops::kCholeskyInverse, write_cholesky_inverse}}},
    {"Det", unary<ops::det>, {{&ops::kDet}}},
    {"Eig", read_eig},
    {"Eigh", read_eigh, {{&ops::kEigh}}},
    {"Inv", unary<ops::inv>, {{&ops::kInv}}},
    {"Lstsq", read_lstsq},
    {"LuFactor", read_lu_factor, {{&ops::kLuFactor}}},
    {"MatrixRank", read_matrix_rank},
    {"Norm", read_norm},
    {"Pinv", read_pinv},
    {"Qr", read_qr, {{&ops::kQr, write_qr}}},
    {"Solve", read_solve, {{&ops::kSolve, nullptr, is_solve}}},
    {"SolveTriangular",
     read_solve_triangular,
     {{&ops::kTriangularSolve, write_solve_triangular, is_solve_triangular}}},
    {"SVD", read_svd, {{&ops::kSvd, write_svd}}},
};

Tensors read_cdist(const OpArguments& a) { return {ops::cdist(a.tensor("x", 0), a.tensor("y", 1))}; }

constexpr OpRow kRowsOfMath[] = {
    {"CDist", read_cdist},
    {"Logdet", unary<ops::logdet>, {{&ops::kLogdet}}},
};

Tensors read_slogdet(const OpArguments& a) {
  const ops::Slogdet found = ops::slogdet(a.tensor("x", 0));
  return {found.sign, found.logabsdet};
}

constexpr OpRow kRowsOfNumpy[] = {{"Slogdet", read_slogdet, {{&ops::kSlogdet}}}};

}  // namespace

OpFamily linalg_ops() { return {"keras.src.ops.linalg", kLinalgRows}; }
OpFamily linalg_ops_of_math() { return {"keras.src.ops.math", kRowsOfMath}; }
OpFamily linalg_ops_of_numpy() { return {"keras.src.ops.numpy", kRowsOfNumpy}; }

}  // namespace nyala
