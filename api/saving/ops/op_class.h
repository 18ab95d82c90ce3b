#pragma once

#include <string>

#include <nyala/backend/core/op.h>

namespace nyala {

/// Keras' class of an op that was traced with this descriptor: "Add" for ops::kAffine that adds a number, and
/// for one that no file can hold its own name, "Conv2d".
std::string op_class_of(const OpDef& op, const Descriptor& descriptor);

}  // namespace nyala
