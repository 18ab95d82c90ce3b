#include <nyala/api/layers/base/fusable.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>

namespace nyala {

Tensor Fusable::call_fused(Call&, const Tensor&, const FusedCall&) const {
  throw InternalError("a layer that takes nothing was called with its neighbours");
}

Tensor Fusable::scaled(const Tensor& kernel, const Tensor& scale) const { return kernel * scale; }

Variables Fusable::map_variables(int) const { return {}; }

ChannelMap Fusable::channel_map(Call&) const { throw InternalError("the layer is no map of channels"); }

}  // namespace nyala
