#pragma once

#include <string>
#include <string_view>

#include <nyala/backend/ops/shape/scatter_into.h>
#include <nyala/backend/parameters/variable.h>

namespace nyala {

/// One call of a writing method of Variable.
struct VariableWrite {
  enum class Kind { assign, add, subtract, scatter };
  std::string_view method;  // "assign_add", for errors
  Kind kind = Kind::assign;
  Tensor value;
  bool number = false;  // `value` was given as one number: the same on all replicas
  Tensor indices = {};  // scatter: one axis
  ops::ScatterKind scatter = ops::ScatterKind::update;
};

namespace detail {

/// "variable 'v', assign_add: ".
std::string place_of(const VariableNode& node, const VariableWrite& write);

/// Throws ShapeError or NumericError naming variable and method unless `write` fits the variable. Returns it
/// with scattered indices as one axis.
VariableWrite checked(const VariableNode& node, VariableWrite write);

/// Carries `write` out on the bytes of `copy`, on its device.
void apply(const VariableWrite& write, const Tensor& copy);

/// What the writes of all replicas come to under `aggregation` (not none), on `device`. Slices are put one
/// after the other in replica order, for a mean divided by the number of replicas. A value that is the same
/// on all replicas (one number, or one tensor's bytes) is its own mean and has no sum: throws
/// InvalidArgumentError unless it is zero.
VariableWrite reduce_writes(const VariableNode& node, std::span<const VariableWrite* const> writes,
                            Device device);

}  // namespace detail

}  // namespace nyala
