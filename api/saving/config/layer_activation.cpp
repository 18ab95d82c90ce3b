#include <nyala/api/saving/config/layer_activation.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/context.h>

namespace nyala {

Tensor LayerActivation::operator()(const Tensor& x) const {
  if (!layer.node().built()) {
    const ScopedValue<const RunningCall*> on_its_own(detail::thread_context().running, nullptr);
    layer.node().ensure_built({x.shape()});
    if (!layer.weights().empty())
      throw InvalidArgumentError("activation " + detail::in_quotes(layer.name()) + " (" + layer.class_name() +
                                 "): a layer with weights as an activation is not built yet, expected one "
                                 "without; as a layer of its own behind this one it computes the same");
  }
  return layer(x);
}

}  // namespace nyala
