#include <nyala/backend/ops/linalg/matrix_batch.h>

#include <algorithm>
#include <string>

#include <nyala/backend/core/error.h>

namespace nyala::ops::detail {

Shape batch_shape(const Shape& x) { return x.slice(0, x.rank() - 2); }

void expect_matrices(InferContext& c, size_t i) {
  if (c.shape(i).rank() < 2)
    c.fail("expected matrices in the last two axes, received shape " + c.shape(i).to_string());
}

void expect_square_matrices(InferContext& c, size_t i) {
  expect_matrices(c, i);
  const int64_t rows = c.shape(i)[-2], columns = c.shape(i)[-1];
  if (rows != columns && rows != None && columns != None)
    c.fail("expected square matrices in the last two axes, received shape " + c.shape(i).to_string());
}

int64_t count_matrices(const Tensor& x) { return batch_shape(x.shape()).num_elements(); }

WideMatrix read_matrix(const Tensor& x, int64_t i) {
  WideMatrix out{x.shape()[-2], x.shape()[-1], {}};
  const int64_t size = out.rows * out.columns;
  out.values.resize(static_cast<size_t>(size));
  nyala::detail::dispatch_real(x.dtype(), "matrix", [&]<class T>(T) {
    std::copy_n(x.raw_as<T>() + i * size, size, out.values.begin());
  });
  return out;
}

void write_part(const Tensor& y, int64_t i, const std::vector<double>& values) {
  nyala::detail::dispatch_arithmetic(y.dtype(), "matrix", [&]<class T>(T) {
    T* out = y.raw_as<T>() + i * static_cast<int64_t>(values.size());
    for (const double value : values) *out++ = static_cast<T>(value);
  });
}

void fail_at_values(const KernelCall& call, const char* message) {
  throw NumericError(std::string(call.op->name) + ": " + message);
}

}  // namespace nyala::ops::detail
