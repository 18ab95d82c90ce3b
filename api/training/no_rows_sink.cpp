#include <nyala/api/training/no_rows_sink.h>

#include <nyala/backend/ops/arithmetic.h>
#include <nyala/backend/ops/binary.h>
#include <nyala/backend/ops/rounding.h>

namespace nyala {

// In place: `gradient` may be the destination.
void NoRowsSink::ready(int32_t leaf, const Tensor& gradient) {
  gradient.copy_from(ops::where(ops::isnan(gradient), ops::zeros_like(gradient), gradient));
  sink_.ready(leaf, gradient);
}

}  // namespace nyala
