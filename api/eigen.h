#pragma once

// Opt-in: Eigen's matrices and arrays as tensors and back. Include it only where it is needed, Eigen compiles
// slowly.
#include <Eigen/Core>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/tensor.h>

namespace nyala {

/// A copy of a matrix or expression as a tensor (rows, columns), row-major; vectors become (size,).
template <class Derived>
Tensor to_tensor(const Eigen::DenseBase<Derived>& matrix) {
  using Scalar = typename Derived::Scalar;
  using Rows = Eigen::Array<Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Rows values = matrix.derived().array();
  const Shape shape =
      Derived::IsVectorAtCompileTime ? Shape{matrix.size()} : Shape{matrix.rows(), matrix.cols()};
  return Tensor::from(std::span<const Scalar>(values.data(), static_cast<size_t>(values.size())), shape);
}

/// The values of a host tensor as an Eigen matrix, without a copy: (rows, columns), or (size, 1) for a
/// vector. Valid as long as the tensor's bytes are. Throws ShapeError for more than two axes, DTypeError for
/// another dtype.
template <class Scalar>
auto as_eigen(const Tensor& tensor) {
  using Rows = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  if (tensor.rank() > 2)
    throw ShapeError("as_eigen: expected at most two axes, received shape " + tensor.shape().to_string());
  const std::span<Scalar> values = tensor.data<Scalar>();
  const int64_t columns = tensor.rank() == 2 ? tensor.shape()[1] : 1;
  const int64_t rows = tensor.rank() == 0 ? 1 : tensor.shape()[0];
  return Eigen::Map<Rows>(values.data(), rows, columns);
}

}  // namespace nyala
