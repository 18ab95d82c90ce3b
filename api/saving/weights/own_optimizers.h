#pragma once

#include <string>
#include <utility>
#include <vector>

#include <nyala/api/saving/weights/weights_file.h>
#include <nyala/api/saving/weights/weights_walk.h>

namespace nyala {

/// An optimizer of ModelNode::track_optimizer.
struct OwnOptimizer {
  std::string path;  // the group that holds its state, "g_optimizer", "gan/g_optimizer"
  Optimizer optimizer;
  Layer holder;  // the model that tracks it
};

/// Those of all models that the groups belong to.
std::vector<OwnOptimizer> own_optimizers(const std::vector<WeightsGroup>& groups);

/// Writes their state where Keras 3 has it: beside the holder's layers, under the attribute. Beside it
/// stands, where Keras does not look, what the optimizer was built for.
void write_own_optimizers(const std::vector<OwnOptimizer>& optimizers, hdf5::Writer& writer,
                          SlotsInFile slots);

/// The states that a file has for them.
class OwnOptimizerStates {
 public:
  /// Looks through all of them and changes none, but builds an optimizer that is not built yet for the
  /// variables that the file names. What does not fit throws ShapeError or StateError, or is left out with a
  /// warning; so is a state of Keras' for an optimizer that is not built.
  OwnOptimizerStates(const std::vector<OwnOptimizer>& optimizers, const WeightsTree& tree,
                     const std::string& file_name, OptimizerMismatch mismatch);
  void load() const;

 private:
  std::vector<std::pair<Optimizer, Tensors>> states_;
};

}  // namespace nyala
