#include <limits>
#include <string>

#include <nyala/api/losses/configured_loss.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/shape/shape.h>
#include <nyala/backend/runtime/collectives.h>
#include <nyala/backend/runtime/context.h>

namespace nyala {

using namespace nyala::detail;

void detail::check_rows_named(int64_t axis, int rank, const char* loss) {
  const Collectives* const replica = thread_context().replica;
  if (!replica || replica->num_replicas() == 1 || axis >= 0 || axis + rank != 0) return;
  throw InvalidArgumentError(std::string(loss) + ": axis " + std::to_string(axis) + " of y_pred of rank " +
                             std::to_string(rank) +
                             " is that of the rows, which several replicas share; say .axis = 0");
}

Tensor detail::at_least(const Tensor& x, double minimum) {
  return ops::clip(x, minimum, std::numeric_limits<double>::infinity());
}

std::pair<Tensor, Tensor> detail::comparable(const Tensor& y_true, const Tensor& y_pred) {
  auto [target, prediction] = fit_ranks(ops::cast(y_true, y_pred.dtype()), y_pred);
  if (prediction.rank() == 1 && target.rank() == 1)
    return {ops::expand_dims(target, -1), ops::expand_dims(prediction, -1)};
  return {target, prediction};
}

}  // namespace nyala
