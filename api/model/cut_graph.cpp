// A model from any tensor of a graph: the way from the outputs back to the new inputs is traced again on
// fresh Inputs, by calling the same layers; what does not depend on them is left, and shared with the first
// model.
#include <nyala/api/model/cut_graph.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include <nyala/api/layers/core/input.h>

namespace nyala {

using namespace nyala::detail;

namespace {

class Cutter {
 public:
  Tensor input(const Tensor& tensor) {
    Tensor fresh = symbolic(tensor)->producer->is_input() ? tensor : fresh_input(tensor);
    replaced_.insert_or_assign(place_of(tensor), fresh);
    return fresh;
  }

  /// `tensor` traced from the inputs; itself where it does not depend on a new one.
  Tensor traced(const Tensor& tensor) {
    if (!symbolic(tensor)) return tensor;
    const auto found = replaced_.find(place_of(tensor));
    if (found != replaced_.end()) return found->second;
    const SymbolicMetadata& metadata = *symbolic(tensor);
    const auto node = traced(metadata.producer);
    if (node == metadata.producer) return tensor;
    Tensor out = symbolic_outputs(node)[metadata.index];
    return metadata.given ? given_mask(out, traced(metadata.mask)) : out;
  }

 private:
  using Node = std::shared_ptr<const GraphNode>;

  Tensor fresh_input(const Tensor& tensor) {
    const GraphNode& producer = *symbolic(tensor)->producer;
    const std::string base = (producer.layer ? producer.layer.name() : producer.name) + "_cut";
    std::string name = base;
    for (int i = 1; !names_.insert(name).second; ++i) name = base + "_" + std::to_string(i);
    const Shape& shape = tensor.shape();
    return Input({.shape = shape.slice(1, shape.rank()),
                  .batch_size = shape[0],
                  .dtype = std::string(name_of(tensor.dtype())),
                  .name = name})
        .tensor();
  }

  Tensors traced(const Tensors& tensors, bool& changed) {
    Tensors out;
    for (const Tensor& tensor : tensors) {
      out.push_back(traced(tensor));
      changed = changed || (symbolic(tensor) && place_of(tensor) != place_of(out.back()));
    }
    return out;
  }

  Node traced(const Node& node) {
    const auto found = copies_.find(node.get());
    if (found != copies_.end()) return found->second;
    bool changed = false;
    const Tensors inputs = traced(node->inputs, changed), masks = traced(node->masks, changed);
    Node out = node;
    if (changed) {
      const auto copy = std::make_shared<GraphNode>(*node);
      copy->inputs = inputs;
      copy->masks = masks;
      copy->output_masks = traced(node->output_masks, changed);
      if (copy->layer) copy->layer.node().add_call(copy);
      out = copy;
    }
    return copies_[node.get()] = out;
  }

  std::map<GraphPlace, Tensor> replaced_;
  std::map<const GraphNode*, Node> copies_;
  std::set<std::string> names_;
};

}  // namespace

GraphEnds cut_graph(const GraphEnds& ends) {
  const auto is_plain = [](const Tensor& input) {
    return !symbolic(input) || symbolic(input)->producer->is_input();
  };
  if (std::all_of(ends.inputs.begin(), ends.inputs.end(), is_plain)) return ends;
  if (!std::all_of(ends.inputs.begin(), ends.inputs.end(), symbolic)) return ends;
  Cutter cutter;
  GraphEnds out;
  for (const Tensor& input : ends.inputs) out.inputs.push_back(cutter.input(input));
  for (const Tensor& output : ends.outputs) out.outputs.push_back(cutter.traced(output));
  return out;
}

}  // namespace nyala
