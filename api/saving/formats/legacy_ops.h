#pragma once

#include <string>

#include <nyala/files/json/strict_json.h>

namespace nyala {

/// Whether the layer of a Keras 2 file stands for an op between layers (TFOpLambda, SlicingOpLambda).
bool is_op_lambda(const Json& layer);

/// It as the operation of Keras 3, with its call. Throws FileFormatError naming `where` and the layer for a
/// function of TensorFlow's that is not built, and for arguments that are not as Keras writes them.
Json op_of_lambda(const Json& layer, const std::string& where);

}  // namespace nyala
