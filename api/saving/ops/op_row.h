#pragma once

#include <nyala/api/saving/ops/op_arguments.h>
#include <nyala/api/saving/ops/traced_op.h>

namespace nyala {

/// An op of ours that is Keras' class where a graph was traced, and how its arguments are written.
struct TracedAs {
  const OpDef* op = nullptr;
  /// Adds to class, module and tensors what else is to be said. Null: nothing.
  void (*write)(const TracedOp&, OpConfig&) = nullptr;
  /// Whether an op so described is this class. Null: it always is.
  bool (*when)(const Descriptor&) = nullptr;
};

/// TensorFlow's function in a file of Keras 2.
struct LegacyFunction {
  struct Setting {
    const char* old_name = nullptr;
    const char* name = nullptr;
  };
  const char* names[2] = {};
  const char* tensors[2] = {};  // its arguments behind the first
  Setting settings[2] = {};     // its other arguments, there and here
  /// What is left to be done. Null: nothing.
  void (*upgrade)(OpConfig&) = nullptr;
};

/// One class of keras.ops in files, in both directions. Adding one to files adds its row, in the file of the
/// module of Keras' where the class stands.
struct OpRow {
  const char* class_name = nullptr;
  Tensors (*read)(const OpArguments&) = nullptr;  // computes it
  TracedAs traced[2] = {};                        // none: made of ops that have rows
  LegacyFunction legacy = {};
};

}  // namespace nyala
