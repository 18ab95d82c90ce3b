#pragma once

#include <nyala/backend/core/op.h>
#include <nyala/backend/ops/linalg/decompositions.h>

/// What ops of matrices in the last two axes have in common.
namespace nyala::ops::detail {

/// The axes before the matrices.
Shape batch_shape(const Shape& x);

/// Throws ShapeError unless input `i` has at least two axes; the second: and the last two are equal.
void expect_matrices(InferContext& c, size_t i);
void expect_square_matrices(InferContext& c, size_t i);

/// How many matrices x has.
int64_t count_matrices(const Tensor& x);
/// Matrix `i` of x, widened.
WideMatrix read_matrix(const Tensor& x, int64_t i);
/// Writes part `i` of y, which has as many elements as `values`, in y's dtype.
void write_part(const Tensor& y, int64_t i, const std::vector<double>& values);

/// Throws NumericError "op: message".
[[noreturn]] void fail_at_values(const KernelCall& call, const char* message);

}  // namespace nyala::ops::detail
