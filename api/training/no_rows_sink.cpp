#include <nyala/api/training/no_rows_sink.h>

#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/rounding.h>

namespace nyala {

// In place: `gradient` may be the destination.
void NoRowsSink::ready(int32_t leaf, const Tensor& gradient) {
  gradient.copy_from(ops::where(ops::isnan(gradient), ops::zeros_like(gradient), gradient));
  sink_.ready(leaf, gradient);
}

}  // namespace nyala
