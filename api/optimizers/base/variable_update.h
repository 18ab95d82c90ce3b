#pragma once

#include <nyala/api/optimizers/base/update_plan.h>

namespace nyala {

/// One variable of an optimizer that takes whole variables, in its shape, with the numbers of the step as
/// tensors of its dtype: formulas are written with ops and read by nobody but the device.
class VariableUpdate {
 public:
  explicit VariableUpdate(const UpdateRange& range) : range_(range) {}

  Tensor weight() const { return range_.weight.with_shape(range_.shape); }
  Tensor gradient() const { return range_.gradient.with_shape(range_.shape); }
  Tensor slot(size_t i) const { return range_.slot_tensors[i].with_shape(range_.shape); }
  /// The first elements of a slot, in another shape.
  Tensor slot(size_t i, const Shape& shape) const {
    return range_.slot_tensors[i].rows(0, shape.num_elements()).with_shape(shape);
  }
  /// Number `i` of UpdateFormula::step_scalars, a scalar tensor.
  Tensor number(int64_t i) const;

  /// Writes `value` to a tensor of the above; returns it.
  static Tensor assign(const Tensor& target, const Tensor& value);

 private:
  const UpdateRange& range_;
};

namespace detail {

/// sqrt(mean(x^2)) and sqrt(sum(x^2)) over all elements, scalars.
Tensor root_mean_square(const Tensor& x);
Tensor norm_of(const Tensor& x);

}  // namespace detail

}  // namespace nyala
