#include <array>

#include <nyala/api/optimizers/optimizer_config.h>
#include <nyala/backend/ops/dispatch.h>

namespace nyala {

void run_update(const OpDef& op, const UpdateRange& range) {
  std::array<Tensor, 4> outputs = {range.weight};
  for (size_t slot = 0; slot < range.slots.size(); ++slot) outputs[slot + 1] = range.slots[slot];
  const std::array<const Tensor*, 3> inputs = {&range.gradient, &range.factor, &range.scalars};
  dispatch(op, range.preparation, inputs, std::span(outputs.data(), op.num_outputs));
}

}  // namespace nyala
