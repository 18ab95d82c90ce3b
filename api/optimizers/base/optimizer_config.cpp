#include <array>
#include <cmath>

#include <nyala/api/optimizers/base/optimizer_config.h>
#include <nyala/backend/ops/base/dispatch.h>

namespace nyala {

double detail::power_of(double base, int64_t exponent, DType dtype) {
  const double t = static_cast<double>(exponent);
  if (dtype == DType::float64) return std::pow(base, t);
  return static_cast<float>(std::pow(static_cast<double>(static_cast<float>(base)), t));
}

void detail::run_update(const OpDef& op, const Descriptor& descriptor, const UpdateRange& range) {
  std::array<Tensor, 4> outputs = {range.weight};
  for (size_t slot = 0; slot < range.slot_tensors.size(); ++slot)
    outputs[slot + 1] = range.slot_tensors[slot];
  const std::array<const Tensor*, 3> inputs = {&range.gradient, &range.factor, &range.scalars};
  dispatch(op, descriptor, inputs, std::span(outputs.data(), op.num_outputs));
}

}  // namespace nyala
