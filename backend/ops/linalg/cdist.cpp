#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/unary_op.h>
#include <nyala/backend/ops/elementwise/exponential.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/linalg/cdist.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/ops/shape/shape.h>

namespace nyala::ops {

using namespace nyala::ops::detail;

Tensor cdist(const Tensor& x, const Tensor& y) {
  if (x.rank() < 2 || y.rank() < 2)
    throw ShapeError("cdist: expected at least two axes each, received shapes " + x.shape().to_string() +
                     " and " + y.shape().to_string());
  const int64_t size = x.shape().back(), other = y.shape().back();
  if (size != other && size != None && other != None)
    throw ShapeError("cdist: expected vectors of one size in the last axes, received shapes " +
                     x.shape().to_string() + " and " + y.shape().to_string());
  const Tensor difference = expand_dims(real(x), -2) - expand_dims(real(y), -3);
  return sqrt(sum(square(difference), -1));
}

}  // namespace nyala::ops
