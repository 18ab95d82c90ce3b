#include <mutex>

#include <nyala/api/model/model.h>
#include <nyala/api/model/sequential.h>
#include <nyala/api/training/model_use.h>

namespace nyala {

namespace {

/// Calls `change` with the chain that nobody else uses meanwhile.
template <class Change>
void change_layers(const Model& model, const char* what, Change&& change) {
  auto& node = static_cast<SequentialNode&>(model.model_node());
  refuse_inside_calls(node, what);
  const ExclusiveUse alone(node, what, Writes::list);
  const std::lock_guard lock(node.building());
  change(node);
}

}  // namespace

void Sequential::add(const Layer& layer) const {
  change_layers(*this, "add", [&](SequentialNode& node) {
    node.add(layer);
    if (node.input()) build(node.input_shapes());
  });
}

void Sequential::pop() const {
  change_layers(*this, "pop", [](SequentialNode& node) { node.pop(); });
}

}  // namespace nyala
