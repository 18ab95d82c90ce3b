#include <algorithm>

#include <nyala/api/losses/overlap_loss.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/reduction/reduction.h>

namespace nyala {

using namespace nyala::detail;

OverlapSums detail::overlap_sums(const Tensor& y_true, const Tensor& y_pred,
                                 const std::vector<int64_t>& axes) {
  const auto [target, prediction] = comparable(y_true, y_pred);
  const std::vector<int> over(axes.begin(), axes.end());
  return {ops::sum(target * prediction, over), ops::sum(target * (1.0 - prediction), over),
          ops::sum((1.0 - target) * prediction, over)};
}

// A negative axis may be that of the rows too; which, only the rank tells. Taking it for one costs a
// gathering.
bool detail::sums_within_rows(const std::vector<int64_t>& axes) {
  return !axes.empty() && std::all_of(axes.begin(), axes.end(), [](int64_t axis) { return axis > 0; });
}

}  // namespace nyala
