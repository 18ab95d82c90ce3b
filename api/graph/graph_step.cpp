// A plan is the graph as a list with numbered values: running it is a loop without look-ups. A value is given
// up after its last reader, which lets its bytes serve the next one; that is found once per plan by a pass
// from front to back.
#include <nyala/api/graph/graph_step.h>

#include <algorithm>
#include <string>
#include <vector>

#include <nyala/api/graph/part_constants.h>
#include <nyala/backend/ops/base/dispatch.h>

namespace nyala {

using namespace nyala::detail;

namespace {

/// A constant where `x` lies; where `by_rows()`, the rows of this replica.
template <class ByRows>
Tensor constant_beside(const Call& c, const Tensor& constant, const Tensor& x, const ByRows& by_rows) {
  const CallOptions& of = c.options();
  const bool is_part = is_part_beside_whole(of, constant, x) && by_rows();
  Tensor here = is_part ? constant.rows(of.first_row, of.rows) : constant;
  if (here.device() != x.device()) here = here.to(x.device());
  const Tensor mask = mask_of(constant);
  return mask.defined() ? with_mask(here, constant_beside(c, mask, x, by_rows)) : here;
}

/// The second tensor of a folded step leaves `values` with its last reader, whose result takes its bytes.
Tensor run_folded(Call& c, const GraphStep& step, Tensors& values) {
  const Tensor x = values[static_cast<size_t>(step.inputs[0])];
  Tensor sum;
  if (step.inputs.size() > 1) {
    const int value = step.inputs[1];
    const bool dies = std::find(step.last_uses.begin(), step.last_uses.end(), value) != step.last_uses.end();
    Tensor& held = values[static_cast<size_t>(value)];
    sum = dies ? std::move(held) : held;
    if (dies) held = Tensor();
  }
  return step.folded->run(c, x, std::move(sum));
}

/// Whether a gradient is to flow to what a folded step reads.
bool reads_tracked(const GraphStep& step, const Tensors& values) {
  return std::ranges::any_of(step.inputs,
                             [&](int i) { return values[static_cast<size_t>(i)].tape() != nullptr; });
}

void run_apart(Call& c, const std::vector<GraphStep>& parts, Tensors& values) {
  for (size_t i = 0; i < parts.size(); ++i) {
    run_step(c, parts[i], values);
    if (i > 0) values[static_cast<size_t>(parts[i - 1].first_output)] = Tensor();
  }
}

}  // namespace

void run_step(Call& c, const GraphStep& step, Tensors& values) {
  auto value = [&](int i) -> Tensor& { return values[static_cast<size_t>(i)]; };
  if (step.apart && reads_tracked(step, values)) return run_apart(c, *step.apart, values);
  if (step.folded) {
    value(step.first_output) = run_folded(c, step, values);
    return;
  }
  const GraphNode& node = *step.node;
  // A node of a graph has an input that is no constant.
  const auto first = std::ranges::find_if(step.inputs, [](int input) { return input != kConstant; });
  const Tensor& x = value(*first);
  auto plain = [&](size_t i) {
    if (step.inputs[i] != kConstant) return value(step.inputs[i]);
    const Tensor& constant = node.inputs[i];
    return constant_beside(c, constant, x, [&] { return layer_takes_by_rows(node, i, constant, x); });
  };
  auto given = [&](size_t i) {
    for (const auto& [input, mask] : step.masks) {
      if (static_cast<size_t>(input) != i) continue;
      if (mask != kConstant) return given_mask(plain(i), value(mask));
      const Tensor& constant = node.masks[i];
      return given_mask(plain(i), constant_beside(c, constant, x, [&] {
                          return layer_takes_mask_by_rows(node, constant, x);
                        }));
    }
    if (std::find(step.bare.begin(), step.bare.end(), i) != step.bare.end()) return with_mask(plain(i), {});
    return plain(i);
  };
  if (node.layer && !node.layer.node().takes_many()) {
    const LayerNode& layer = node.layer.node();
    value(step.first_output) =
        step.fused.any() ? layer.invoke(c, given(0), {.parts = step.fused}) : layer.invoke(c, given(0));
  } else {
    Tensors inputs;
    for (size_t i = 0; i < step.inputs.size(); ++i) inputs.push_back(given(i));
    if (!node.layer) inputs = inputs_of_part(c.options(), step, std::move(inputs));
    if (node.layer) {
      if (node.arguments) inputs[0] = with_call_arguments(inputs[0], node.arguments);
      Outputs outputs = node.layer.node().invoke(c, Inputs(inputs));
      std::move(outputs.begin(), outputs.end(), values.begin() + step.first_output);
    } else if (node.operation) {
      for (Tensor& input : inputs) input = with_mask(input, {});
      Outputs outputs = node.operation->run(inputs);
      std::move(outputs.begin(), outputs.end(), values.begin() + step.first_output);
    } else {
      std::vector<const Tensor*> pointers;
      for (const Tensor& input : inputs) pointers.push_back(&input);
      dispatch(*node.op, node.descriptor, pointers,
               std::span(values).subspan(static_cast<size_t>(step.first_output), node.outputs.size()));
    }
  }
}

void run_steps(Call& c, const std::vector<GraphStep>& steps, Tensors& values) {
  for (const GraphStep& step : steps) {
    run_step(c, step, values);
    for (const int used : step.last_uses) values[static_cast<size_t>(used)] = Tensor();
  }
}

void find_last_uses(GraphPlan& plan) {
  std::vector<int> last_step(static_cast<size_t>(plan.num_values), -1);
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    plan.steps[i].last_uses.clear();
    for (int value : plan.steps[i].inputs)
      if (value != kConstant) last_step[static_cast<size_t>(value)] = static_cast<int>(i);
    for (const auto& [input, value] : plan.steps[i].masks)
      if (value != kConstant) last_step[static_cast<size_t>(value)] = static_cast<int>(i);
  }
  for (int value : plan.outputs) last_step[static_cast<size_t>(value)] = -1;
  for (int value = 0; value < plan.num_values; ++value)
    if (const int step = last_step[static_cast<size_t>(value)]; step >= 0)
      plan.steps[static_cast<size_t>(step)].last_uses.push_back(value);
}

std::vector<ValueUse> find_uses(const GraphPlan& plan) {
  std::vector<ValueUse> uses(static_cast<size_t>(plan.num_values));
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    for (const int value : plan.steps[i].inputs) {
      if (value == kConstant) continue;
      ++uses[static_cast<size_t>(value)].count;
      uses[static_cast<size_t>(value)].reader = static_cast<int>(i);
    }
    for (const auto& [input, value] : plan.steps[i].masks)
      if (value != kConstant) ++uses[static_cast<size_t>(value)].count;
  }
  for (const int value : plan.outputs) ++uses[static_cast<size_t>(value)].count;
  return uses;
}

}  // namespace nyala
