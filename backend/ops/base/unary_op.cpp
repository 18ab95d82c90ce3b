#include <string>

#include <nyala/backend/ops/base/unary_op.h>

namespace nyala::ops::detail {

using namespace nyala::detail;

void infer_unary(InferContext& c) { c.output(0, c.shape(0), c.dtype(0)); }

void infer_unary_gradient(InferContext& c) {
  if (!matches(c.shape(0), c.shape(1)))
    c.fail("expected a gradient of shape " + c.shape(0).to_string() + ", received " + c.shape(1).to_string());
  c.output(0, c.shape(0), c.dtype(0));
}

void zero_gradient(GradContext& c) { c.set(0, zeros_like(c.grad().detached())); }

}  // namespace nyala::ops::detail
