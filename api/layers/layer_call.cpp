#include <nyala/api/layers/layer.h>
#include <nyala/api/layers/mask.h>
#include <nyala/api/layers/place.h>
#include <nyala/api/model/graph.h>
#include <nyala/api/model/model_node.h>
#include <nyala/backend/core/error.h>

namespace nyala {

namespace {

/// A model hands the mask to the layers that read its input, which a graph cannot write down.
void check_takes_mask(const LayerNode& node, const Tensor& input) {
  if (node.uses_mask()) return;
  if (!dynamic_cast<const ModelNode*>(&node))
    throw InvalidArgumentError(place(node) +
                               "expected a call without a mask, since it looks at none, received .mask; one "
                               "of your own overrides uses_mask() and reads mask_of(x)");
  if (symbolic(input))
    throw InvalidArgumentError(place(node) +
                               "expected a call without a mask on a symbolic tensor, since it is a model, "
                               "received .mask; give it to the layers inside, from an Input of its own");
}

Tensor masked(const LayerNode& node, const Tensor& input, const LayerCall& call) {
  if (!call.mask.defined()) return input;
  check_takes_mask(node, input);
  return given_mask(input, call.mask);
}

}  // namespace

Tensor Layer::operator()(const Tensor& input, const LayerCall& call) const {
  return (*this)(masked(node(), input, call));
}

Tensor Layer::operator()(Call& c, const Tensor& input, const LayerCall& call) const {
  return (*this)(c, masked(node(), input, call));
}

Tensor Layer::operator()(const std::vector<Tensor>& inputs, const LayerCall& call) const {
  std::vector<Tensor> all = inputs;
  if (!all.empty()) all[0] = masked(node(), all[0], call);
  return (*this)(all);
}

Outputs Layer::call_all(const std::vector<Tensor>& inputs, const LayerCall& call) const {
  std::vector<Tensor> all = inputs;
  if (!all.empty()) all[0] = masked(node(), all[0], call);
  return call_all(all);
}

}  // namespace nyala
