#pragma once

#include <nyala/api/saving/config/op_config.h>

namespace nyala {

/// The operation of Keras' that an op of ours, drawn by `x + y` or ops::mean(x), is. Throws
/// InvalidArgumentError for an op that Keras has no operation for.
OpConfig drawn_op_config(const GraphNode& node);

}  // namespace nyala
