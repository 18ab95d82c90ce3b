// Rewriting of a plan by neighbours: where only one step reads a value, the layer that makes it may take the
// reader over, or the reader the zeros around its input. Which parts a layer takes it says itself (Fusable).
// Activations and padding are fused in all passes, since they change no gradient; BatchNormalization and sums
// only in the second plan, for passes out of training. That one works from the end, so that of two layers
// that are added the later one takes the sum. In training what of it is frozen is taken over into the first
// plan, for values without a gradient.
#include <nyala/api/graph/graph_step.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>

namespace nyala {

using namespace nyala::detail;

namespace {

bool is_plain(const GraphStep& step) {
  return step.masks.empty() && step.bare.empty() && !step.node->arguments && step.node->outputs.size() == 1;
}

/// The step that alone reads the result of `step`, or null.
GraphStep* only_reader(const GraphStep& step, const std::vector<ValueUse>& uses, GraphPlan& plan) {
  const ValueUse& use = uses[static_cast<size_t>(step.first_output)];
  if (use.count != 1 || use.reader < 0) return nullptr;
  GraphStep& reader = plan.steps[static_cast<size_t>(use.reader)];
  return is_plain(reader) && reader.node->device == step.node->device ? &reader : nullptr;
}

void drop(GraphPlan& plan, const std::vector<bool>& dropped) {
  std::vector<GraphStep> kept;
  for (size_t i = 0; i < plan.steps.size(); ++i)
    if (!dropped[i]) kept.push_back(std::move(plan.steps[i]));
  plan.steps = std::move(kept);
}

size_t index_of(const GraphStep& step, const GraphPlan& plan) {
  return static_cast<size_t>(&step - plan.steps.data());
}

ops::Activation activation_of(const LayerNode& layer) {
  const Fusable* fusable = layer.fusable();
  return fusable ? fusable->does().activation : ops::Activation::linear;
}

/// Whether the layer takes these parts in all passes, and without a FoldedLayer.
bool takes_alone(const LayerNode& layer, const FusedParts& parts) {
  const Fusable* fusable = layer.fusable();
  return fusable && fusable->weights().empty() && fusable->takes(parts);
}

}  // namespace

void fuse_activations(GraphPlan& plan) {
  const std::vector<ValueUse> uses = find_uses(plan);
  std::vector<bool> dropped(plan.steps.size(), false);
  for (GraphStep& step : plan.steps) {
    if (!step.node->layer || uses[static_cast<size_t>(step.first_output)].count != 1) continue;
    const int reader = uses[static_cast<size_t>(step.first_output)].reader;
    if (reader < 0) continue;
    const GraphStep& next = plan.steps[static_cast<size_t>(reader)];
    const LayerNode *own = &step.node->layer.node(),
                    *after = next.node->layer ? &next.node->layer.node() : nullptr;
    const FusedParts parts{.activation = after ? activation_of(*after) : ops::Activation::linear};
    if (!parts.any() || !takes_alone(*own, parts) || own->compute_dtype() != after->compute_dtype() ||
        step.node->device != next.node->device)
      continue;
    step.fused = parts;
    step.first_output = next.first_output;
    dropped[static_cast<size_t>(reader)] = true;
  }
  drop(plan, dropped);
}

namespace {

bool is_relu(ops::Activation activation) {
  return activation == ops::Activation::relu || activation == ops::Activation::relu6;
}

/// Which values a relu has made: nowhere below zero, and with no gradient where they are zero, so that it
/// does not matter which of several zeros a window takes.
std::vector<bool> values_of_relus(const GraphPlan& plan) {
  std::vector<bool> found(static_cast<size_t>(plan.num_values), false);
  for (const GraphStep& step : plan.steps)
    if (step.node->layer && is_plain(step) &&
        (is_relu(step.fused.activation) || is_relu(activation_of(step.node->layer.node()))))
      found[static_cast<size_t>(step.first_output)] = true;
  return found;
}

/// Lets `reader`, a convolution or a pooling, pad by itself what `zeros` pads.
bool take_padding(GraphStep& reader, const GraphStep& zeros, bool from_relu) {
  const Layer& layer = reader.node->layer;
  if (!layer || reader.folded || reader.fused.any()) return false;
  if (const auto folded = FoldedLayer::of(layer)) {
    if (!folded->absorb_padding(zeros.node->layer)) return false;
    reader.folded = folded;
    return true;
  }
  const LayerNode& pads = zeros.node->layer.node();
  if (!from_relu || !pads.fusable()) return false;
  const FusedParts parts{.padding = pads.fusable()->does().padding};
  if (!parts.padding || !takes_alone(layer.node(), parts) ||
      layer.compute_dtype() != zeros.node->inputs[0].dtype() || layer.compute_dtype() != pads.compute_dtype())
    return false;
  reader.fused = parts;
  return true;
}

}  // namespace

void fuse_paddings(GraphPlan& plan) {
  const std::vector<ValueUse> uses = find_uses(plan);
  const std::vector<bool> from_relu = values_of_relus(plan);
  std::vector<bool> dropped(plan.steps.size(), false);
  for (GraphStep& step : plan.steps) {
    if (!step.node->layer || !is_plain(step) || step.inputs.size() != 1 || step.inputs[0] == kConstant)
      continue;
    GraphStep* const reader = only_reader(step, uses, plan);
    if (!reader || !take_padding(*reader, step, from_relu[static_cast<size_t>(step.inputs[0])])) continue;
    reader->inputs = step.inputs;
    dropped[index_of(step, plan)] = true;
  }
  drop(plan, dropped);
}

namespace {

/// The value that `add` adds to `value`, or kConstant where it does something else.
int other_summand(const GraphStep& add, int value) {
  const GraphNode& node = *add.node;
  const bool adds = node.layer ? node.layer.class_name() == "Add" : node.op == &ops::kAdd;
  if (!adds || add.inputs.size() != 2 || add.inputs[0] == kConstant || add.inputs[1] == kConstant ||
      node.inputs[0].shape() != node.inputs[1].shape() || node.inputs[0].dtype() != node.inputs[1].dtype())
    return kConstant;
  return add.inputs[0] == value ? add.inputs[1] : add.inputs[0];
}

/// Works back from the end: of two layers that are added the later one takes the sum over, so that no step
/// moves over many others.
class Folding {
 public:
  explicit Folding(const GraphPlan& plan)
      : plan_(plan), uses_(find_uses(plan)), dropped_(plan.steps.size(), false), parts_(plan.steps.size()) {}

  FoldedPlan result() {
    for (size_t i = plan_.steps.size(); i-- > 0;)
      if (!dropped_[i]) fold(i);
    if (!changed_) return {};
    FoldedPlan folded;
    for (size_t i = 0, kept = 0; i < dropped_.size(); ++i) {
      if (dropped_[i]) continue;
      if (!parts_[i].empty()) folded.groups.push_back({kept, std::move(parts_[i])});
      ++kept;
    }
    drop(plan_, dropped_);
    find_last_uses(plan_);
    folded.plan = std::move(plan_);
    return folded;
  }

 private:
  void fold(size_t index) {
    GraphStep step = plan_.steps[index];
    if (!step.node->layer || !is_plain(step) || step.fused.activation != ops::Activation::linear) return;
    if (step.folded && step.folded->is_for_inference()) return;
    const auto folded =
        step.folded ? std::make_shared<FoldedLayer>(*step.folded) : FoldedLayer::of(step.node->layer);
    if (!folded) return;
    std::vector<size_t> parts{index};
    for (GraphStep* next = only_reader(step, uses_, plan_); next && absorb(*folded, step, *next);
         next = only_reader(step, uses_, plan_)) {
      dropped_[index] = true;
      index = index_of(*next, plan_);
      step.first_output = next->first_output;
      parts.push_back(index);
    }
    if (parts.size() == 1) return;
    step.folded = folded;
    for (const int value : step.inputs) {
      ValueUse& use = uses_[static_cast<size_t>(value)];
      if (use.count == 1) use.reader = static_cast<int>(index);
    }
    plan_.steps[index] = std::move(step);
    parts_[index] = std::move(parts);
    changed_ = true;
  }

  static bool absorb(FoldedLayer& folded, GraphStep& step, const GraphStep& next) {
    if (next.folded) return false;
    const Layer& layer = next.node->layer;
    if (const int other = other_summand(next, step.first_output); other != kConstant) {
      if (layer && layer.compute_dtype() != step.node->layer.compute_dtype()) return false;
      if (!folded.absorb_sum()) return false;
      step.inputs.push_back(other);
      return true;
    }
    return folded.absorb_normalization(layer, next.fused.activation, next.node->inputs[0].rank()) ||
           (!next.fused.any() && folded.absorb_activation(layer));
  }

  GraphPlan plan_;
  std::vector<ValueUse> uses_;
  std::vector<bool> dropped_;
  std::vector<std::vector<size_t>> parts_;  // of a step that has taken others over
  bool changed_ = false;
};

}  // namespace

FoldedPlan folded_plan(const GraphPlan& plan) { return Folding(plan).result(); }

GraphPlan partly_folded_plan(const GraphPlan& plan, const FoldedPlan& folded,
                             const std::vector<bool>& chosen) {
  GraphPlan partly = plan;
  std::vector<bool> dropped(plan.steps.size(), false);
  for (size_t i = 0; i < folded.groups.size(); ++i) {
    if (!chosen[i]) continue;
    const std::vector<size_t>& parts = folded.groups[i].parts;
    auto apart = std::make_shared<std::vector<GraphStep>>();
    for (const size_t part : parts) {
      apart->push_back(plan.steps[part]);
      dropped[part] = true;
    }
    dropped[parts.back()] = false;
    GraphStep& step = partly.steps[parts.back()];
    step = folded.plan.steps[folded.groups[i].step];
    step.apart = std::move(apart);
  }
  drop(partly, dropped);
  find_last_uses(partly);
  return partly;
}

bool takes_folded_plan(const Call& c, const Tensor& input) {
  return takes_partly_folded_plan(c, input) && !c.training() && !(c.tape() && c.tape()->recording);
}

bool takes_partly_folded_plan(const Call& c, const Tensor& input) {
  return c.options().fold_batch_normalization && !input.is_abstract() && !thread_context().is_placed();
}

}  // namespace nyala
