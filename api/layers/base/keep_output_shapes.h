#pragma once

#include <nyala/backend/runtime/context.h>

namespace nyala {

/// While it lives, calls on abstract tensors on this thread leave LayerNode::output_shapes() as they are: a
/// question about shapes must not change what summary() shows.
class KeepOutputShapes {
 public:
  KeepOutputShapes() : keeps_(detail::thread_context().keeps_output_shapes, true) {}

 private:
  ScopedValue<bool> keeps_;
};

}  // namespace nyala
