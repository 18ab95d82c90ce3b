#pragma once

#include <nyala/api/graph/graph.h>

namespace nyala {

/// The ends of a graph.
struct GraphEnds {
  Tensors inputs, outputs;
};

/// The same graph, where an input may be any tensor of one: in place of such an input stands an Input of its
/// own, named after the call that made the tensor, and the calls behind it are traced again, with the same
/// layers (as Keras' Functional does). What does not depend on such inputs is left as it is.
GraphEnds cut_graph(const GraphEnds& ends);

}  // namespace nyala
