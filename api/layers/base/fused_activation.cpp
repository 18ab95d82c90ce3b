#include <algorithm>

#include <nyala/api/base/at_least_float32.h>
#include <nyala/api/layers/base/fused_activation.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>

namespace nyala {

namespace {

/// Whether ops compute an activation of this name in their own pass; sets `fused` then.
bool fuses(const std::string& name, ops::Activation& fused) {
  if (name == "linear")
    fused = ops::Activation::linear;
  else if (name == "relu")
    fused = ops::Activation::relu;
  else if (name == "sigmoid")
    fused = ops::Activation::sigmoid;
  else if (name == "tanh")
    fused = ops::Activation::tanh;
  else
    return false;
  return true;
}

}  // namespace

FusedActivation::FusedActivation(ActivationArgument activation) : activation_(std::move(activation)) {
  fused_here_ = !activation_.is_custom() && fuses(activation_.name(), fused_);
}

void detail::add_activity_loss(Call& c, const Regularizer& regularizer, const Tensor& output) {
  if (output.is_abstract() || output.rank() == 0) return;
  const Tensor y = at_least_float32(output);  // a sum over many elements
  // A replica without rows adds nothing, but not 0 / 0.
  c.add_loss(regularizer(y) * (1.0 / static_cast<double>(std::max<int64_t>(y.shape()[0], 1))));
}

}  // namespace nyala
