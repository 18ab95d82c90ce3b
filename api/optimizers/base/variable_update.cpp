#include <nyala/api/optimizers/base/variable_update.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/exponential.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/reduction/reduction.h>

namespace nyala {

Tensor VariableUpdate::number(int64_t i) const {
  const Tensor number = range_.scalars.rows(ops::kFirstFormulaScalar + i, 1);
  return ops::cast(number, range_.weight.dtype()).with_shape({});
}

Tensor VariableUpdate::assign(const Tensor& target, const Tensor& value) {
  dispatch_into(ops::kAffine, ops::AffineDescriptor{}, {&value}, target);
  return target;
}

Tensor detail::root_mean_square(const Tensor& x) { return ops::sqrt(ops::mean(ops::square(x))); }

Tensor detail::norm_of(const Tensor& x) { return ops::sqrt(ops::sum(ops::square(x))); }

}  // namespace nyala
