#include <nyala/api/constraints/norms.h>
#include <nyala/backend/ops/exponential.h>
#include <nyala/backend/ops/reduction.h>
#include <nyala/backend/ops/rounding.h>

namespace nyala {

Tensor detail::norms_of(const Tensor& w, const std::vector<int64_t>& axes) {
  return ops::sqrt(ops::sum(ops::square(w), std::vector<int>(axes.begin(), axes.end()), true));
}

}  // namespace nyala
