// The gradients of a product are products with one side transposed. The transposed side is passed as a flag
// to the kernel, so no copy of it is made. Where one side has no batch its gradient sums left^T right over
// the batch, which is one taller product.
#include <algorithm>
#include <string>

#include <nyala/backend/ops/base/broadcasting.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/base/grad_context.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/nn/matmul.h>
#include <nyala/backend/ops/shape/shape.h>

namespace nyala::ops {

using namespace nyala::detail;
using namespace nyala::ops::detail;

namespace {

void infer_matmul(InferContext& c) {
  const auto& d = c.descriptor<MatmulDescriptor>();
  const Shape &a = c.shape(0), &b = c.shape(1);
  if (c.dtype(0) != c.dtype(1))
    c.fail("expected two inputs of one dtype, received " + std::string(name_of(c.dtype(0))) + " and " +
           std::string(name_of(c.dtype(1))));
  if (a.rank() < 2 || b.rank() < 2)
    c.fail("expected matrices, received " + a.to_string() + " and " + b.to_string());
  const int64_t inner_a = a[d.transpose_a ? -2 : -1], inner_b = b[d.transpose_b ? -1 : -2];
  if (inner_a != inner_b && inner_a != None && inner_b != None)
    c.fail("expected as many columns on the left as rows on the right, received " + a.to_string() +
           (d.transpose_a ? " transposed" : "") + " and " + b.to_string() +
           (d.transpose_b ? " transposed" : ""));
  Shape out = broadcast(a.slice(0, a.rank() - 2), b.slice(0, b.rank() - 2), c.name());
  out.append(a[d.transpose_a ? -1 : -2]);
  out.append(b[d.transpose_b ? -2 : -1]);
  c.output(0, out, c.dtype(0));
}

/// One product; strides in elements from row to row and from column to column.
template <class T>
struct Factors {
  const T* a;
  const T* b;
  int64_t a_row, a_column, b_row, b_column;
};

template <class T>
void multiply(const MatmulGeometry& g, const Factors<T>& f, T* y) {
  std::fill_n(y, g.rows * g.columns, T(0));
  for (int64_t row = 0; row < g.rows; ++row)
    for (int64_t k = 0; k < g.inner; ++k) {
      const T left = f.a[row * f.a_row + k * f.a_column];
      for (int64_t column = 0; column < g.columns; ++column)
        y[row * g.columns + column] =
            static_cast<T>(y[row * g.columns + column] + left * f.b[k * f.b_row + column * f.b_column]);
    }
}

void matmul_reference(const KernelCall& call) {
  const auto& d = call.descriptor<MatmulDescriptor>();
  const MatmulGeometry g = matmul_geometry(call);
  dispatch_arithmetic(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    Factors<T> f{nullptr, nullptr, g.inner, 1, g.columns, 1};
    if (d.transpose_a) f.a_row = 1, f.a_column = g.rows;
    if (d.transpose_b) f.b_row = 1, f.b_column = g.inner;
    for_each_broadcast(g.batch_a, g.batch_b, g.batch, [&](int64_t i, int64_t ia, int64_t ib) {
      f.a = call.in<T>(0) + ia * g.rows * g.inner;
      f.b = call.in<T>(1) + ib * g.inner * g.columns;
      multiply(g, f, call.out<T>(0) + i * g.rows * g.columns);
    });
  });
}

Shape batch_of(const Tensor& x) { return x.shape().slice(0, x.rank() - 2); }

Tensor as_matrix(const Tensor& x) {
  return viewed(x, {batch_of(x).num_elements() * x.shape()[-2], x.shape()[-1]});
}

/// Adds a . b to the gradient of input `i`, summed over the batch axes that it was broadcast along.
void add_product(GradContext& c, size_t i, const MatmulDescriptor& d, TensorPointers factors) {
  const Shape &wanted = c.input(i).shape(), &y = c.grad().shape();
  const Shape batch = y.slice(0, y.rank() - 2);
  if (d.transpose_a && !d.transpose_b && wanted.rank() == 2 && batch == batch_of(*factors[0]) &&
      batch == batch_of(*factors[1])) {
    // The sum over the batch of left^T right is one product of taller matrices.
    const Tensor left = as_matrix(*factors[0]), right = as_matrix(*factors[1]);
    c.emit(i, kMatmul, d, {&left, &right});
    return;
  }
  if (wanted.slice(0, wanted.rank() - 2) == batch)
    c.emit(i, kMatmul, d, {factors[0], factors[1]});
  else
    c.set(i, sum_to_shape(dispatch(kMatmul, d, {factors[0], factors[1]}), wanted));
}

void matmul_gradient(GradContext& c) {
  const auto [ta, tb] = c.descriptor<MatmulDescriptor>();
  const Tensor &a = c.input(0), &b = c.input(1), &dy = c.grad();
  const auto add = [&](size_t i, const MatmulDescriptor& d, const Tensor& left, const Tensor& right) {
    const std::array<const Tensor*, 2> factors{&left, &right};
    if (c.needs(i)) add_product(c, i, d, factors);
  };
  if (ta)
    add(0, {tb, true}, b, dy);
  else
    add(0, {false, !tb}, dy, b);
  if (tb)
    add(1, {true, ta}, dy, a);
  else
    add(1, {!ta, false}, a, dy);
}

}  // namespace

MatmulGeometry detail::matmul_geometry(const KernelCall& call) {
  const auto& d = call.descriptor<MatmulDescriptor>();
  const Shape &a = call.input(0).shape(), &b = call.input(1).shape(), &y = call.output(0).shape();
  return {y[-2],
          a[d.transpose_a ? -2 : -1],
          y[-1],
          a.slice(0, a.rank() - 2),
          b.slice(0, b.rank() - 2),
          y.slice(0, y.rank() - 2)};
}

const OpDef kMatmul = {.name = "matmul",
                       .infer = infer_matmul,
                       .gradient = matmul_gradient,
                       .keep_inputs = keep(0, 1),
                       .is_product = true,
                       .reference = matmul_reference,
                       .twice_differentiable = true};

Tensor matmul(const Tensor& a, const Tensor& b, const MatmulDescriptor& transposed) {
  if (a.dtype() == b.dtype()) return dispatch(kMatmul, transposed, {&a, &b});
  const DType dtype = promote(a.dtype(), b.dtype());
  const Tensor left = cast(a, dtype), right = cast(b, dtype);
  return dispatch(kMatmul, transposed, {&left, &right});
}

Tensor matmul(const Tensor& a, const Tensor& b) {
  const bool row = a.rank() == 1, column = b.rank() == 1;
  if (!row && !column) return matmul(a, b, {false, false});
  const Tensor left = row ? expand_dims(a, 0) : a, right = column ? expand_dims(b, 1) : b;
  const Tensor y = matmul(left, right, {false, false});
  if (row && column) return squeeze(y, {-2, -1});
  return squeeze(y, {row ? -2 : -1});
}

}  // namespace nyala::ops
