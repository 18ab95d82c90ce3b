#include <nyala/api/constraints/norms.h>
#include <nyala/backend/ops/elementwise/exponential.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/reduction/reduction.h>

namespace nyala {

Tensor detail::norms_of(const Tensor& w, const std::vector<int64_t>& axes) {
  return ops::sqrt(ops::sum(ops::square(w), std::vector<int>(axes.begin(), axes.end()), true));
}

}  // namespace nyala
