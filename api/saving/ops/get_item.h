#pragma once

#include <nyala/api/saving/ops/op_arguments.h>
#include <nyala/api/saving/ops/traced_op.h>

namespace nyala {

/// x[key] as Python has it: numbers, slices, "..." and None, in a list or alone.
Tensors read_item(const OpArguments& a);
/// The key of ops::kSlice, a slice for each axis.
void write_item(const TracedOp& op, OpConfig& out);
/// The key of Keras 2, whose slices are {"start", "stop", "step"}.
void upgrade_item(OpConfig& op);

}  // namespace nyala
