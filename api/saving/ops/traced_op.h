#pragma once

#include <string>

#include <nyala/backend/core/op.h>
#include <nyala/files/json/strict_json.h>

namespace nyala {

/// A node of a graph that `x + y`, ops::mean(x) and the like made, as what is written of it sees it.
struct TracedOp {
  const OpDef& op;
  const Descriptor& descriptor;
  const Tensors& inputs;
  const Tensors& outputs;
  const std::string& name;  // of the node

  template <class T>
  const T& as() const {
    return descriptor.as<T>();
  }
  /// Throws InvalidArgumentError: why it cannot be saved, and what to do.
  [[noreturn]] void fail(const std::string& reason) const;
};

/// The axes whose bits are set.
Json axes_to_json(uint32_t axes);
/// A number beside the op's first tensor: whole beside integers, which a fraction would make float32.
Json number_to_json(const TracedOp& op, double value);
/// A shape with at most one unknown size, which becomes -1. Throws InvalidArgumentError for more.
Json new_shape_to_json(const TracedOp& op, const Shape& shape);

}  // namespace nyala
