#pragma once

#include <span>
#include <string_view>

#include <nyala/api/saving/ops/op_row.h>

namespace nyala {

/// The rows of one module of Keras'.
struct OpFamily {
  const char* module;
  std::span<const OpRow> rows;
};

// Each in a file of its own; those of numpy in four.
OpFamily numpy_arithmetic_ops();
OpFamily numpy_function_ops();
OpFamily numpy_reduction_ops();
OpFamily numpy_shape_ops();
OpFamily math_ops();
OpFamily linalg_ops();
OpFamily linalg_ops_of_math();
OpFamily linalg_ops_of_numpy();
OpFamily fourier_ops();
OpFamily nn_ops();
OpFamily core_ops();

/// A row with its module, "keras.src.ops.numpy".
struct OpEntry : OpRow {
  const char* module = nullptr;
};

/// The row of Keras' class, or null.
const OpEntry* find_op(std::string_view class_name);
/// That of TensorFlow's function without its module, "reduce_mean", or null.
const OpEntry* find_legacy_op(std::string_view function);
/// The operation of Keras' that the op is; `args` are its tensors. Throws InvalidArgumentError with the
/// reason if there is none.
OpConfig write_op(const TracedOp& op, Json args);

/// Why files cannot hold the op, or cannot with some descriptors; null for an op whose rows hold all.
const char* unsupported_reason(const OpDef& op);

}  // namespace nyala
