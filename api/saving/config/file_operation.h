#pragma once

#include <memory>
#include <string>

#include <nyala/api/graph/graph.h>
#include <nyala/api/saving/ops/op_config.h>

namespace nyala {

/// The operation of a node of the graph, whether it came from a file or was traced. Throws
/// InvalidArgumentError for an op that files cannot hold.
OpConfig op_to_config(const GraphNode& node);

/// The operation as a node of a graph, under its module of today. Its constants are read at once and added to
/// `inputs`, behind those of the graph: it is to be run with all of them. Throws FileFormatError naming
/// `where`; so does running it.
std::shared_ptr<const GraphOperation> make_operation(OpConfig config, const std::string& where,
                                                     Tensors& inputs);

}  // namespace nyala
