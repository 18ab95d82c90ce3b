#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nyala/api/graph/fused_graph.h>
#include <nyala/api/graph/placed_graph.h>
#include <nyala/api/graph/topology.h>
#include <nyala/api/layers/base/takes_all_masks.h>
#include <nyala/api/model/model_node.h>

namespace nyala {

/// A model that is the graph between symbolic inputs and outputs. Built when made. With one replica, calls
/// that were traced under device() guards run on those devices, at the same time where they do not depend on
/// each other; with several, each replica runs all of them on its own device. Convolutions run with the zeros
/// around their input; predict and evaluate fold more into them (folded_layer.h). The memory of folded
/// weights is given back when the model trains.
class FunctionalNode : public ModelNode, public TakesAllMasks {
 public:
  FunctionalNode(Tensors inputs, Tensors outputs);

  std::string class_name() const override { return "Functional"; }
  bool takes_many() const override { return inputs_.size() != 1 || outputs_.size() != 1; }
  /// As in Keras, where the call of a model has an argument `mask`: the layers that read its inputs see it.
  bool uses_mask() const override { return true; }
  /// call() converts each to the dtype of its Input.
  bool converts_inputs() const override { return false; }
  Outputs call(Call& c, Inputs inputs) const override;
  Tensor call(Call& c, const Tensor& input) const override;

  std::vector<Layer> layers() const override;
  std::vector<std::string> output_names(size_t num_outputs) const override;
  std::vector<std::string> input_names() const override;
  Shapes input_shapes() const override;
  size_t num_inputs() const override { return inputs_.size(); }
  std::vector<Device> placed_devices() const override;

  const Tensors& inputs() const override { return inputs_; }
  const Tensors& outputs() const override { return outputs_; }
  const Topology& topology() const { return topology_; }
  /// How Keras nests the inputs and outputs of a model from a file, in lists and dictionaries: JSON in which
  /// the place of a tensor stands for it. Empty for a tensor and for a list of them, which is what the model
  /// takes and gives here.
  struct Nesting {
    std::string inputs = {}, outputs = {};
    std::vector<std::string> output_names = {};  // in a dictionary; empty for others
  };
  const Nesting& nesting() const { return nesting_; }
  void set_nesting(Nesting nesting) { nesting_ = std::move(nesting); }
  /// The layer of an operation (an Input's layer for input nodes), or an empty handle for op nodes.
  static Layer layer_of(const GraphNode& node);

 private:
  void plan();
  void place();

  Tensors inputs_, outputs_;
  Topology topology_;
  Nesting nesting_;
  FusedGraph graph_;
  std::vector<int> input_values_;
  std::vector<bool> keeps_whole_numbers_;  // of each input
  std::unique_ptr<PlacedGraph> placed_;    // null where no call remembers a device
};

}  // namespace nyala
