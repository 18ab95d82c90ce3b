#pragma once

#include <map>
#include <string>

#include <nyala/api/saving/config/op_arguments.h>

namespace nyala {

/// How an operation of Keras' is computed, and the module that files name for it.
struct OpEntry {
  Tensors (*run)(const OpArguments&) = nullptr;
  const char* module = "keras.src.ops.numpy";
};

/// All operations that are built, by class name.
const std::map<std::string, OpEntry>& op_table();

/// The parts of the table, each in a file of its own.
void add_elementwise_ops(std::map<std::string, OpEntry>& table);
void add_shape_ops(std::map<std::string, OpEntry>& table);
void add_other_ops(std::map<std::string, OpEntry>& table);

inline constexpr const char* kNumpyOps = "keras.src.ops.numpy";
inline constexpr const char* kMathOps = "keras.src.ops.math";
inline constexpr const char* kCoreOps = "keras.src.ops.core";
inline constexpr const char* kNnOps = "keras.src.ops.nn";

}  // namespace nyala
