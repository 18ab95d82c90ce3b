#pragma once

#include <string>

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// Which norm: none given, a number (which may be infinite), "fro" or "nuc". Throws InvalidArgumentError for
/// another name.
class NormOrder {
 public:
  enum class Kind { none, number, frobenius, nuclear };

  NormOrder() = default;
  NormOrder(double number) : kind_(Kind::number), number_(number) {}
  NormOrder(int number) : NormOrder(static_cast<double>(number)) {}
  NormOrder(const char* name) : NormOrder(std::string(name)) {}
  NormOrder(const std::string& name);

  Kind kind() const { return kind_; }
  double number() const { return number_; }
  bool is(double number) const { return kind_ == Kind::number && number_ == number; }
  /// As it would be typed.
  std::string to_string() const;

 private:
  Kind kind_ = Kind::none;
  double number_ = 0;
};

/// The norm of the vectors along one axis or of the matrices in two, rows first; without axes in all that x
/// has. Of vectors: by default the root of the sum of squares, infinity and -infinity the largest and
/// smallest absolute value, 0 how many are not 0, another p (sum |x|^p)^(1/p). Of matrices: by default and
/// "fro" the root of the sum of squares, 1 and -1 the largest and smallest sum of a column's absolute values,
/// infinity and -infinity that of a row's, 2 and -2 the largest and smallest singular value, "nuc" their sum.
/// Composed of other ops. Integers become float32. Throws ShapeError for an axis that does not exist and for
/// other than one or two axes, InvalidArgumentError for an order that vectors or matrices do not have.
Tensor norm(const Tensor& x, const NormOrder& ord = {}, const Axes& axis = {}, bool keepdims = false);

}  // namespace nyala::ops
