#pragma once

#include <nyala/api/layers/base/layer.h>

namespace nyala::detail {

/// Adds a call on symbolic tensors to the graph that they belong to. Layers know no graph: whatever makes a
/// symbolic tensor sets the hook first.
using TraceHook = Tensors (*)(const Layer& layer, const Tensors& inputs);
void set_trace_hook(TraceHook hook);
Tensors traced_call(const Layer& layer, const Tensors& inputs);

}  // namespace nyala::detail
