#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include <nyala/api/layers/base/layer.h>
#include <nyala/backend/core/error.h>

namespace nyala {

/// One object of a weights file: the group that holds its own variables.
struct WeightsGroup {
  std::string path;  // "layers/dense", "" for the root object
  std::string name;  // the object's own name, an attribute of the group
  Layer layer;
  Variables variables;  // own ones in file order
};

/// Keras 3's walk over an object and all it holds, which fixes the groups of a weights file: containers first
/// by snake case of the class and position ("layers/dense_1"), then attributes by name; what is shared is
/// listed once, under the first path. An attribute that was tracked several times is a list: its layers are
/// "blocks/dense", "blocks/dense_1".
std::vector<WeightsGroup> walk_weights(const Layer& root);

/// Runs `write`, which writes the layer: an InvalidArgumentError, of a name that the file cannot hold, names
/// it.
template <class Write>
void naming_layer(const Layer& layer, const Write& write) {
  try {
    write();
  } catch (const InvalidArgumentError&) {
    detail::rethrow_with_prefix("layer " + detail::in_quotes(layer.name()) + " (" + layer.class_name() +
                                "): ");
  }
}

/// The layers and all that they hold.
std::set<const LayerNode*> with_sublayers(const std::vector<Layer>& layers);

}  // namespace nyala
