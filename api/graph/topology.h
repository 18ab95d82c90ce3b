#pragma once

#include <memory>
#include <vector>

#include <nyala/api/graph/graph.h>

namespace nyala {

/// The calls between some inputs and outputs, and the order of Keras' `model.layers`.
struct Topology {
  /// Every node that the outputs need, producers first.
  std::vector<std::shared_ptr<const GraphNode>> nodes;
  /// Operations (layers, op nodes, inputs) by decreasing depth, ties by first touch from the outputs; each
  /// layer once. This order numbers the groups of weights files.
  std::vector<std::shared_ptr<const GraphNode>> operations;
  /// The nodes in the order in which Keras runs them: by decreasing distance to an output.
  std::vector<std::shared_ptr<const GraphNode>> run_order;
};

/// Sorts the graph as Keras does (depth first from the outputs, then longest distance to an output). Throws
/// InvalidArgumentError for outputs that do not depend on `inputs`, and for names that occur twice.
Topology sort_graph(const Tensors& inputs, const Tensors& outputs);

}  // namespace nyala
