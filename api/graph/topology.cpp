// The order of Keras' map_graph (Function in keras/src/ops/function.py), which files and summaries show:
// depth first from the outputs in post-order, depths from the outputs back (the longest way counts),
// operations sorted by depth and, among equals, by when they were first met. A stack of its own instead of
// recursion: graphs may be deeper than the thread's.
#include <nyala/api/graph/topology.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

namespace {

using Node = std::shared_ptr<const GraphNode>;

/// The identity of an operation: calls of one layer share it, an op node or input is its own.
const void* operation_of(const Node& node) {
  return node->layer ? static_cast<const void*>(&node->layer.node()) : static_cast<const void*>(node.get());
}

std::string name_of(const Node& node) { return node->layer ? node->layer.name() : node->name; }

class Sorter {
 public:
  explicit Sorter(const Tensors& inputs) {
    for (const Tensor& input : inputs) inputs_.insert(symbolic(input)->producer.get());
  }

  /// Depth first, without recursion: graphs may be deeper than the stack.
  void visit(const Node& output) {
    if (done_.contains(output.get())) return;
    enter(output);
    while (!open_.empty()) {
      if (const Node* needed = next_needed(open_.back())) {
        if (!done_.contains(needed->get())) enter(*needed);
        continue;
      }
      done_.insert(open_.back().node.get());
      order_.push_back(std::move(open_.back().node));
      open_.pop_back();
    }
  }

  /// An input that no output needs: Keras puts it before all other operations of depth 0.
  void add_unused(const Node& input) {
    if (!done_.insert(input.get()).second) return;
    index_.emplace(operation_of(input), std::numeric_limits<int>::min() + static_cast<int>(index_.size()));
    first_call_.emplace(operation_of(input), input);
    order_.push_back(input);
  }

  Topology finish() {
    std::unordered_map<const GraphNode*, int> node_depth;
    std::unordered_map<const void*, int> depth;
    std::vector<const GraphNode*> touched;  // in Keras' order: each node, then what it needs
    const auto touch = [&](const GraphNode* node) -> int& {
      const auto [place, fresh] = node_depth.emplace(node, 0);
      if (fresh) touched.push_back(node);
      return place->second;
    };
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
      const Node& node = *it;
      int& own = depth[operation_of(node)];
      own = std::max(own, touch(node.get()));
      touch(node.get()) = own;
      if (inputs_.contains(node.get())) continue;
      for (const Tensor& input : node->inputs) {
        if (!symbolic(input)) continue;
        int& producer = touch(symbolic(input)->producer.get());
        producer = std::max(producer, own + 1);
      }
      for (const Tensor& mask : node->masks) {
        if (!symbolic(mask)) continue;
        int& producer = touch(symbolic(mask)->producer.get());
        producer = std::max(producer, own + 1);
      }
    }
    Topology out;
    out.nodes = order_;
    std::unordered_map<const GraphNode*, Node> shared;
    for (const Node& node : order_) shared[node.get()] = node;
    std::stable_sort(touched.begin(), touched.end(),
                     [&](const GraphNode* a, const GraphNode* b) { return node_depth[a] > node_depth[b]; });
    for (const GraphNode* node : touched)
      if (shared.contains(node)) out.run_order.push_back(shared[node]);
    for (const auto& [operation, node] : first_call_) out.operations.push_back(node);
    std::sort(out.operations.begin(), out.operations.end(), [&](const Node& a, const Node& b) {
      const int da = depth[operation_of(a)], db = depth[operation_of(b)];
      return da != db ? da > db : index_[operation_of(a)] < index_[operation_of(b)];
    });
    return out;
  }

 private:
  /// A node some of whose inputs, then masks, are visited.
  struct Open {
    Node node;
    size_t next = 0;
  };

  void enter(const Node& node) {
    if (!active_.insert(node.get()).second) throw InvalidArgumentError("the graph of the model has a cycle");
    if (index_.try_emplace(operation_of(node), static_cast<int>(index_.size())).second)
      first_call_.emplace(operation_of(node), node);
    if (node->is_input() && !inputs_.contains(node.get()))
      throw InvalidArgumentError("an output depends on input " + in_quotes(name_of(node)) +
                                 ", which is not among the model's inputs");
    open_.push_back({node});
  }

  /// What `open` needs next; null when it has all.
  const Node* next_needed(Open& open) const {
    if (inputs_.contains(open.node.get())) return nullptr;
    const Tensors &inputs = open.node->inputs, &masks = open.node->masks;
    while (open.next < inputs.size() + masks.size()) {
      const size_t i = open.next++;
      if (const SymbolicMetadata* made = symbolic(i < inputs.size() ? inputs[i] : masks[i - inputs.size()]))
        return &made->producer;
    }
    return nullptr;
  }

  std::unordered_set<const GraphNode*> inputs_, done_, active_;
  std::vector<Open> open_;
  std::unordered_map<const void*, int> index_;
  std::unordered_map<const void*, Node> first_call_;
  std::vector<Node> order_;
};

/// Layers and inputs have names of their own. Ops may clash, where one was traced by itself, as masks are,
/// and another comes from a file: the later one gets another name.
void make_names_unique(const Topology& topology) {
  const auto is_op = [](const Node& node) { return !node->layer && !node->is_input(); };
  std::map<std::string, int> counts;
  for (const Node& node : topology.operations)
    if (!is_op(node)) ++counts[name_of(node)];
  for (const auto& [name, count] : counts)
    if (count > 1)
      throw InvalidArgumentError("the name \"" + name + "\" is used " + std::to_string(count) +
                                 " times in the model; all names must be unique");
  for (const Node& node : topology.operations)
    if (is_op(node))
      while (++counts[node->name] > 1) node->name = unique_name(node->op_class);
}

}  // namespace

Topology sort_graph(const Tensors& inputs, const Tensors& outputs) {
  for (const Tensors* side : {&inputs, &outputs})
    for (const Tensor& tensor : *side)
      if (!symbolic(tensor))
        throw InvalidArgumentError(
            "a model is made from symbolic tensors: begin with Input(shape) and call layers on it");
  Sorter sorter(inputs);
  for (const Tensor& output : outputs) sorter.visit(symbolic(output)->producer);
  for (const Tensor& input : inputs) sorter.add_unused(symbolic(input)->producer);
  Topology topology = sorter.finish();
  make_names_unique(topology);
  return topology;
}

}  // namespace nyala
